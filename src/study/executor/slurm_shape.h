#pragma once
#include "study/executor/executor.h"
#include "study/executor/slurm_options.h"

namespace tessera {

// Tasks, nodes and devices of a job in Slurm's words.
struct SlurmShape {
  int tasks = 1, nodes = 1;
  int tasks_per_node = 1;  // at most
  int gpus_per_node = 0;
  int64_t cores_per_task = 0;  // 0: not said
};

// Throws UsageError for threads of one process that no node holds.
SlurmShape slurm_shape(const Job& job, const SlurmOptions& options);

}  // namespace tessera
