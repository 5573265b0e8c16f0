#include "train/run_folder.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/new_file.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "core/signals.h"
#include "infer/checkpoint/checkpoint_store.h"

namespace tessera {
namespace {

constexpr const char* kLog = "log.jsonl";

// A run that is to go on may still be saving where it was stopped.
std::unique_ptr<FileLock> lock_folder(const fs::path& folder, bool resume, Access access) {
  constexpr int kPatience_s = 60;
  auto lock = std::make_unique<FileLock>(folder / ".lock", "set run.dir to another place", access);
  for (int waited = 0; !lock->try_lock(); ++waited) {
    if (!resume || waited == kPatience_s || stop_signal() != 0) {
      fail_usage("{} is in use by {}; wait until it has ended, or set run.dir (or run.name) to start another run",
                 folder.string(), lock->holder());
    }
    if (waited == 0) log_info("waiting for {}, which writes to {}", lock->holder(), folder.string());
    std::this_thread::sleep_for(std::chrono::seconds(1));
  }
  return lock;
}

// The checkpoints of a run may have been moved away; its log then still says that there were some.
bool holds_run(const fs::path& folder) {
  if (holds_checkpoint(folder / "checkpoints")) return true;
  std::error_code error;
  return fs::exists(folder / kLog, error) && read_text(folder / kLog).find(R"("type":"checkpoint")") != std::string::npos;
}

// Only by who has the lock.
void clean_up(const fs::path& folder) {
  remove_leftovers(folder);
  remove_leftovers(folder / "predictions");
  remove_checkpoint_drafts(folder / "checkpoints");
}

}  // namespace

fs::path run_folder(const Experiment& experiment) {
  const std::string& dir = experiment.run.dir;
  if (dir.find("://") != std::string::npos)
    fail_usage("run.dir={} is a URL, a folder was expected; set run.upload={} to have the folder copied there",
               printable(mask_urls(dir)), printable(mask_urls(dir)));
  if (!dir.empty()) return dir;
  const fs::path name = experiment.run.name.empty() ? "run" : experiment.run.name;
  const bool leaves =
      name.has_root_path() || std::any_of(name.begin(), name.end(), [](const fs::path& p) { return p == ".."; });
  if (leaves || name.lexically_normal() == "." || experiment.run.name.find('\0') != std::string::npos)
    fail_usage("run.name={} does not name a folder below runs/; expected a name such as unet-2, or set run.dir",
               printable(experiment.run.name));
  return fs::path("runs") / name;
}

Access run_access(const RunConfig& config, const fs::path& folder) {
  switch (config.permissions) {
    case RunPermissions::kAuto: return access_at(folder);
    case RunPermissions::kPrivate: return Access::kPrivate;
    case RunPermissions::kGroup: return Access::kGroup;
    case RunPermissions::kUmask: return Access::kUmask;
  }
  return Access::kPrivate;
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

std::unique_ptr<FileLock> claim_folder(const fs::path& folder, bool resume, Access access) {
  const std::string why = why_not_writable(folder, access);
  TSR_CHECK(why.empty(), "the run folder {} cannot be written: {}; set run.dir to another place", folder.string(), why);
  auto lock = lock_folder(folder, resume, access);
  std::error_code error;
  // Where locks do not work, a log is all that tells of a run that may be in its first steps.
  const bool used = holds_run(folder) || (!lock->works() && fs::exists(folder / kLog, error));
  if (used && !resume)
    fail_usage("{} already holds a run; add --resume to go on with it, or set run.dir (or run.name) to start another",
               folder.string());
  if (lock->works()) clean_up(folder);
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
