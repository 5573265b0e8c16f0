#include "study/executor/slurm_shape.h"

#include <algorithm>

#include "core/error.h"

namespace tessera {

SlurmShape slurm_shape(const Job& job, const SlurmOptions& options) {
  const int64_t gpus = options.gpus_per_node, per_node = options.ranks_per_node > 0 ? options.ranks_per_node : gpus;
  SlurmShape shape;
  if (job.threads) {
    if (per_node > 0 && job.ranks > per_node)
      fail_usage("{} threads of one process (dp) do not fit a node of {}; use ddp", job.ranks, per_node);
    shape.gpus_per_node = gpus > 0 ? job.ranks : 0;
    shape.cores_per_task = job.ranks * std::max<int64_t>(1, options.cores_per_rank);
    return shape;
  }
  shape.tasks = job.ranks;
  shape.nodes = per_node > 0 ? static_cast<int>((job.ranks + per_node - 1) / per_node) : 1;
  shape.tasks_per_node = (job.ranks + shape.nodes - 1) / shape.nodes;
  shape.gpus_per_node = gpus > 0 ? std::min(static_cast<int>(gpus), shape.tasks_per_node) : 0;
  shape.cores_per_task = options.cores_per_rank;
  return shape;
}

}  // namespace tessera
