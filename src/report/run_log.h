#pragma once
#include <filesystem>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>

#include "core/access.h"

namespace tessera {

// Note [Run log]
// `log.jsonl` is the append-only truth of a run: one JSON object per line, each with "type" and "time" (unix seconds).
// Numbers that are not finite are written as null. Lines of a run, with the fields readers know:
//
//   start       anything that describes the session
//   train       step epoch loss lr grad_norm images_per_s data_wait (share of the time, 0..1) memory_mb
//               exchange_ms exchange_wait_ms (of this step's gradients over the ranks, on CPUs: under way, and waited for)
//   eval        step epoch metrics{name: value} per_class[{name iou accuracy dice pixels}] confusion[[label][prediction]]
//               windows_for_memory (which images were cut into windows because memory ran out)
//   checkpoint  step path
//   bad_sample  id reason replaced_by
//   warning     text step
//   guard       step action (left out, gone back, stopped, spike) text place samples[] loss grad_norm back_to (lines before it
//               with a greater step no longer count)
//   resume      step: lines before it with a greater step no longer count; the killed session had gone past its checkpoint
//   end         status (done, stopped early, paused, stopped ...; failed, or why: diverged, out of memory) seconds
//
// Shares and scores are fractions (0.43), not percent. Every field may be absent. Secrets are left out (core/secrets.h).

// Writes the log. Thread-safe. Each line is handed to the system whole before `event` returns, so a killed process loses
// none; what a full disk cuts off is ended by a newline before the next line, so one lost line never spoils another. A log that
// is removed while it is written is begun again.
class RunLog {
 public:
  // Opens for appending, making the file if absent. Throws Error with the path and the system's reason.
  explicit RunLog(const std::filesystem::path& path, Access access = Access::kUmask);
  ~RunLog();
  RunLog(const RunLog&) = delete;
  RunLog& operator=(const RunLog&) = delete;

  // Appends `fields` (an object or null) with "type" and "time" added. Throws Error when the line could not be written.
  void event(const std::string& type, nlohmann::json fields = nullptr);

 private:
  void open();
  void open_again_if_gone();

  std::filesystem::path path_;
  Access access_;
  std::mutex mutex_;
  int fd_ = -1;
  bool torn_ = false;  // the file does not end with a newline
};

}  // namespace tessera
