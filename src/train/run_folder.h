#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include "config/experiment.h"
#include "core/file_lock.h"

namespace tessera {

// The folder a config's run goes to: run.dir, or runs/<run.name>. Throws UsageError for a name that would lead out of runs/.
std::filesystem::path run_folder(const Experiment& experiment);

// Who may read what the run writes to its folder: run.permissions.
Access run_access(const RunConfig& config, const std::filesystem::path& folder);

// What a run that is refused before its first step made of its folder goes with it: empty folders that were not there before,
// and the lock. What somebody else put there stays.
class NewFolders {
 public:
  explicit NewFolders(const std::filesystem::path& run);  // before anything is made
  ~NewFolders();
  NewFolders(const NewFolders&) = delete;
  NewFolders& operator=(const NewFolders&) = delete;

  void keep() { made_.clear(); }

 private:
  std::vector<std::filesystem::path> made_;  // innermost first
};

// Makes the folder and locks it for this process, so that one at a time writes there; what killed processes left half written
// goes. Throws UsageError where another has it or, unless `resume`, where it holds a run; one that failed before its first
// checkpoint is none.
std::unique_ptr<FileLock> claim_folder(const std::filesystem::path& folder, bool resume, Access access = Access::kUmask);

// The log of a run that failed before its first checkpoint becomes log-failed.jsonl, and its TensorBoard events go: another
// run begins here. Does nothing in a folder that holds a run.
void set_failed_run_aside(const std::filesystem::path& folder);

}  // namespace tessera
