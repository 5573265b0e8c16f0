#pragma once
#include <string>

#include "report/run_history.h"

namespace tessera {

// What happened to the run besides training: starts, resumes, warnings, checkpoints, the end. Runs of checkpoints and of
// the same warning are drawn together. "" when the log has no such line.
std::string timeline_list(const RunHistory& history);

}  // namespace tessera
