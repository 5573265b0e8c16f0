#pragma once
#include "study/executor/executor.h"
#include "study/executor/local_executor.h"
#include "study/executor/slurm_options.h"

namespace tessera {

// Jobs as steps of the allocation that this process was started in, by salloc or by a batch script: one allocation whose nodes
// a study fills. Each is an srun of this machine, which outlives its controller as Note [Jobs of this machine] says, as long as
// the allocation lasts; one for which there is no room yet waits inside srun. Another controller must run on the same node.
class SlurmStepExecutor final : public Executor {
 public:
  // Throws UsageError outside of an allocation.
  explicit SlurmStepExecutor(SlurmOptions options, std::vector<std::string> program = {});

  void start(const Job& job) override;
  JobStatus poll(const Job& job) override;
  void stop(const Job& job) override;
  std::optional<int> most_at_once(const Job& job) const override;

 private:
  SlurmOptions options_;
  std::vector<std::string> program_;
  LocalExecutor sruns_;
};

}  // namespace tessera
