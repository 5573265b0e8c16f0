#pragma once
#include <optional>
#include <string>

#include "core/error.h"
#include "core/image.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/evaluator.h"

namespace tessera {

// How a run ended that did not fail.
enum class RunEnd {
  kDone,          // all steps of train.duration
  kStoppedEarly,  // by checkpoint.early_stop
  kPaused,        // at stop_at
  kHook,          // a hook wanted it
  kTimeLimit,     // RunOptions::ends_at_s
  kSignal
};

struct RunResult {
  TrainState state;
  std::optional<EvalResult> last_eval = {};
  ClassTable classes = {};
  RunEnd end = RunEnd::kDone;
  int signal = 0;                // the stop signal that ended the run, or 0
  std::string stop_reason = {};  // the hook's, where that ended the run

  // See Note [Order of events].
  bool complete() const { return end != RunEnd::kHook && end != RunEnd::kTimeLimit && end != RunEnd::kSignal; }
  std::string status() const;  // "done", "stopped early", "paused", "stopped by <reason>", "out of time", "stopped"
};

// The loss or the weights are no longer finite: these settings do not train this model. What was saved before is untouched.
class Diverged : public Error {
 public:
  using Error::Error;
};

}  // namespace tessera
