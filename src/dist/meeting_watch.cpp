#include "dist/meeting_watch.h"

#include "core/log.h"

namespace tessera {

MeetingWatch::MeetingWatch(std::function<bool()> wanted, std::function<void()> abort, std::chrono::milliseconds period)
    : wanted_(std::move(wanted)),
      abort_(std::move(abort)),
      period_(period),
      thread_([this](const std::stop_token& stop) { look(stop); }) {}

void MeetingWatch::look(const std::stop_token& stop) {
  try {
    while (!wanted_()) {
      std::unique_lock lock(mutex_);
      ended_.wait_for(lock, stop, period_, [] { return false; });
      if (stop.stop_requested()) return;
    }
    abort_();
  } catch (const std::exception& e) {
    if (!stop.stop_requested()) log_warn("nobody looks any more whether the ranks are to meet again: {}", e.what());
  }
}

}  // namespace tessera
