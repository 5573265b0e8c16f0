#pragma once
#include <string>
#include <vector>

#include "study/executor/executor.h"

namespace tessera {

// The job's arguments of this program with what makes its ranks: `-p ddp --ranks 4` (threads: `-p dp`), unless the arguments
// say so themselves. Under srun, where ranks are tasks, this program takes those instead of making its own.
std::vector<std::string> job_arguments(const Job& job);

}  // namespace tessera
