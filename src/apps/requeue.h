#pragma once
#include <string>

namespace tessera {

// Throws UsageError where this process runs in no Slurm job.
void check_requeue();

// Puts the job that this process runs in back into Slurm's queue, by scontrol. Throws Error with what that said. Slurm ends the
// job soon after: call it when all is saved.
void requeue_job();

}  // namespace tessera
