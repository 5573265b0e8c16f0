#pragma once
#include <filesystem>
#include <memory>

#include "config/experiment.h"
#include "storage/folder_copy.h"

namespace tessera {

// The copy of a run in a bucket (run.upload), for the first rank, once the run's folder is its own; null without run.upload.
// Resuming takes what is newer there. Throws UsageError where another run is there already, Error where the bucket refuses:
// that is known before the first step, and later no failure of the copy ends the run.
std::unique_ptr<FolderCopy> open_run_copy(const Experiment& experiment, const std::filesystem::path& folder, bool resume,
                                          Access access);

// At the end of a run: what is missing goes up, for a while only where a signal asked the run to end.
void finish_run_copy(FolderCopy* copy);

}  // namespace tessera
