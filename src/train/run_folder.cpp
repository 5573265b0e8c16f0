#include "train/run_folder.h"

#include <unistd.h>

#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/log.h"
#include "core/signals.h"
#include "infer/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

constexpr const char* kLog = "log.jsonl";

std::string this_process() {
  return fmt::format("process {} on {}", ::getpid(), host_name());
}

// A run that is to go on may still be saving where it was stopped.
std::unique_ptr<FileLock> lock_folder(const fs::path& folder, bool resume) {
  constexpr int kPatience_s = 60;
  auto lock = std::make_unique<FileLock>(folder / ".lock", "set run.dir to another place");
  for (int waited = 0; !lock->try_lock(); ++waited) {
    if (!resume || waited == kPatience_s || stop_signal() != 0) {
      fail_usage("{} is in use by {}; wait until it has ended, or set run.dir (or run.name) to start another run",
                 folder.string(), lock->signature());
    }
    if (waited == 0) log_info("waiting for {}, which writes to {}", lock->signature(), folder.string());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  lock->sign(this_process());
  return lock;
}

// The checkpoints of a run may have been moved away; its log then still says that there were some.
bool holds_run(const fs::path& folder) {
  if (holds_checkpoint(folder / "checkpoints")) return true;
  std::error_code error;
  return fs::exists(folder / kLog, error) && read_text(folder / kLog).find(R"("type":"checkpoint")") != std::string::npos;
}

}  // namespace

fs::path run_folder(const Experiment& experiment) {
  if (!experiment.run.dir.empty()) return experiment.run.dir;
  return fs::path("runs") / (experiment.run.name.empty() ? "run" : experiment.run.name);
}

NewFolders::NewFolders(const fs::path& run) {
  std::error_code error;
  for (const char* name : {".lock", "checkpoints"}) {
    if (!fs::exists(run / name, error)) made_.push_back(run / name);
  }
  for (fs::path at = fs::absolute(run).lexically_normal(); !fs::exists(at, error) && at != at.parent_path();
       at = at.parent_path()) {
    if (at.has_filename()) made_.push_back(at);  // not where a path ends in '/'
  }
}

NewFolders::~NewFolders() {
  std::error_code ignored;
  for (const fs::path& path : made_) fs::remove(path, ignored);  // only what is empty
}

std::unique_ptr<FileLock> claim_folder(const fs::path& folder, bool resume) {
  const std::string why = why_not_writable(folder);
  TSR_CHECK(why.empty(), "the run folder {} cannot be written: {}; set run.dir to another place", folder.string(), why);
  auto lock = lock_folder(folder, resume);
  std::error_code error;
  // Where locks do not work, a log is all that tells of a run that may be in its first steps.
  const bool used = holds_run(folder) || (!lock->works() && fs::exists(folder / kLog, error));
  if (used && !resume)
    fail_usage("{} already holds a run; add --resume to go on with it, or set run.dir (or run.name) to start another",
               folder.string());
  return lock;
}

void set_failed_run_aside(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(folder / kLog, error) || holds_run(folder)) return;
  const fs::path aside = folder / "log-failed.jsonl";
  fs::rename(folder / kLog, aside, error);
  TSR_CHECK(!error, "cannot move {} to {}: {}", (folder / kLog).string(), aside.string(), error.message());
  fs::remove_all(folder / "tensorboard", error);
  log_info("a run in {} ended before its first checkpoint; its log is now {}", folder.string(), aside.filename().string());
}

}  // namespace tessera
