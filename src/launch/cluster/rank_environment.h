#pragma once
#include <functional>
#include <optional>
#include <string>

#include "dist/rank_spec.h"

namespace tessera {

// Where a rank reads its place in the world: the environment, or a table in a test.
struct RankVariables {
  std::function<std::optional<std::string>(const std::string& name)> get;
  int64_t parent_pid = 0;  // shared by the ranks that one process manager started
};

RankVariables process_variables();  // of this process

// Which rank this process is, told by whoever started it; nothing when nobody did. Looked for in this order:
//   RANK, WORLD_SIZE, ...         tessera launch, torchrun, or by hand
//   OMPI_COMM_WORLD_RANK, ...     mpirun of Open MPI
//   PMI_RANK, PMI_SIZE            mpirun of MPICH and Intel MPI
//   SLURM_PROCID in a step        srun with more than one task
// The script of sbatch and the shell of salloc carry Slurm's variables too but are no ranks. MASTER_ADDR and MASTER_PORT, where
// they are set, win over an address and a port derived from the job. Wrong or missing variables throw UsageError naming them.
// With mpirun, node_rank supposes that ranks fill one host after the other, as they do by default.
std::optional<RankSpec> rank_from_variables(const RankVariables& variables);

// "JOB.STEP" of the srun that started this process, and how often Slurm has put the job back into its queue; nothing outside of
// a step.
std::optional<std::string> slurm_step(const RankVariables& variables);

// The rank from this process's environment. Rank 0 of an mpirun over several hosts also checks that the address the others
// will call is its own.
std::optional<RankSpec> rank_from_environment();

}  // namespace tessera
