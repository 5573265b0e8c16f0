#pragma once
#include "launch/cluster/rank_environment.h"
#include "launch/options.h"

namespace tessera {

// Which node of how many this launcher is. Options win over WORLD_SIZE, NODE_RANK, MASTER_ADDR and MASTER_PORT; where neither
// is set and srun or mpirun started one launcher per host, their variables tell. Throws UsageError naming what is missing or
// contradicts.
LaunchLayout find_layout(const LaunchOptions& options, const RankVariables& variables, int num_gpus);

}  // namespace tessera
