#include "study/executor/make_executor.h"

#include "core/files.h"
#include "study/executor/local_executor.h"
#include "study/executor/slurm_executor.h"
#include "study/executor/slurm_steps.h"
#include "study/executor/ssh_executor.h"
#include "study/typed_section.h"

namespace tessera {
namespace {

struct ExecutorMaker {
  std::unique_ptr<Executor> operator()(const LocalOptions& options) const {
    if (!options.reuse) return std::make_unique<LocalExecutor>();
    const std::string program = fs::read_symlink("/proc/self/exe").string();
    return std::make_unique<LocalExecutor>(std::vector<std::string>{}, std::vector<std::string>{program, kWorkerCommand});
  }
  std::unique_ptr<Executor> operator()(const SshOptions& options) const { return std::make_unique<SshExecutor>(options); }
  std::unique_ptr<Executor> operator()(const SlurmOptions& options) const {
    if (options.allocation) return std::make_unique<SlurmStepExecutor>(options);
    return std::make_unique<SlurmExecutor>(options);
  }
};

}  // namespace

ExecutorConfig read_executor(const Node& section) {
  return read_typed_section<ExecutorConfig>(section, "executor");
}

std::unique_ptr<Executor> make_executor(const ExecutorConfig& config) {
  return std::visit(ExecutorMaker(), config);
}

}  // namespace tessera
