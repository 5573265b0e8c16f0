#include "train/run_result.h"

namespace tessera {

std::string RunResult::status() const {
  switch (end) {
    case RunEnd::kDone: return "done";
    case RunEnd::kStoppedEarly: return "stopped early";
    case RunEnd::kPaused: return "paused";
    case RunEnd::kHook: return "stopped by " + stop_reason;
    case RunEnd::kTimeLimit: return "out of time";
    case RunEnd::kSignal: return "stopped";
  }
  return "";
}

}  // namespace tessera
