#pragma once
#include <string>
#include <vector>

#include "config/schema.h"

namespace tessera {

// How jobs are asked of Slurm.
struct SlurmOptions {
  static constexpr std::string_view kName = "slurm";
  std::string partition = {};
  std::string account = {};
  std::string time = {};
  int64_t gpus_per_node = 0;
  int64_t ranks_per_node = 0;
  int64_t cores_per_rank = 0;
  std::string memory = {};
  int64_t save_s = 120;
  int64_t most_jobs = 0;
  bool allocation = false;
  std::vector<std::string> sbatch = {};
  std::vector<std::string> setup = {};
  double poll_s = 10;
  double timeout_s = 60;
  double patience_s = 600;
  double settle_s = 30;
};
template <class V>
void describe(V& v, SlurmOptions& c) {
  v.field("partition", c.partition, "empty: the cluster's default");
  v.field("account", c.account, "whose budget pays; empty: your default");
  v.field("time", c.time,
          "limit of a job as Slurm writes it, 30 or 12:00:00; a job that reaches it saves, and a new one goes on. Empty: the "
          "partition's");
  v.field("gpus_per_node", c.gpus_per_node, "GPUs of a node; each rank has one. 0: ranks on CPUs", at_least(0));
  v.field("ranks_per_node", c.ranks_per_node, "most ranks on a node; 0: gpus_per_node, or without GPUs all on one node",
          at_least(0));
  v.field("cores_per_rank", c.cores_per_rank, "CPU cores of each rank; 0: as the cluster gives them", at_least(0));
  v.field("memory", c.memory, "of a node, as 64G; empty: the cluster's default");
  v.field("save_s", c.save_s, "seconds before the time limit at which a job is told to save and end", at_least(1));
  v.field("most_jobs", c.most_jobs, "jobs of the study that wait or run at once; 0: all of them", at_least(0));
  v.field(
      "allocation", c.allocation,
      "run inside the allocation that this command was started in (salloc, sbatch): jobs are steps of it, as many at once as "
      "its nodes hold");
  v.field("sbatch", c.sbatch, "further options of sbatch: [--constraint=a100, --qos=long]");
  v.field("setup", c.setup, "lines of the batch script before the command: [module load cuda]");
  v.field("poll_s", c.poll_s, "seconds between two questions to Slurm, each of which asks for all jobs", positive());
  v.field("timeout_s", c.timeout_s, "seconds for sbatch, squeue, sacct and scancel to answer", positive());
  v.field("patience_s", c.patience_s, "seconds without an answer after which the study ends; its jobs go on", at_least(0));
  v.field("settle_s", c.settle_s, "seconds that a job's files may take to be seen from here after its end", at_least(0));
}

}  // namespace tessera
