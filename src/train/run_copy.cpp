#include "train/run_copy.h"

#include <chrono>

#include "core/error.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/signals.h"

namespace tessera {
namespace {

// Logs grow all the time, and a copy of them is made whole.
constexpr std::chrono::seconds kPeriod{30};
constexpr std::chrono::seconds kPatience = std::chrono::hours(24), kPatienceAfterSignal{30};

}  // namespace

std::unique_ptr<FolderCopy> open_run_copy(const Experiment& experiment, const std::filesystem::path& folder, bool resume,
                                          Access access) {
  std::string url = experiment.run.upload;
  if (url.empty()) return nullptr;
  while (url.ends_with('/')) url.pop_back();
  url += "/" + std::filesystem::absolute(folder).lexically_normal().filename().string();
  auto copy = std::make_unique<FolderCopy>(url, folder, access);
  if (resume) {
    copy->fetch_newer();
  } else if (const std::string there = copy->newest_checkpoint(); !there.empty()) {
    fail_usage("{} already holds a run, up to {}; add --resume to go on with it, or set run.upload or run.name otherwise",
               printable(copy->root()), printable(there));
  }
  log_info("the run is copied to {}", copy->root());
  copy->start(kPeriod);
  return copy;
}

void finish_run_copy(FolderCopy* copy) {
  if (copy != nullptr) copy->finish(stop_signal() != 0 ? kPatienceAfterSignal : kPatience);
}

}  // namespace tessera
