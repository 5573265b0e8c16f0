#include "study/executor/make_executor.h"

#include "study/executor/local_executor.h"
#include "study/executor/slurm_executor.h"
#include "study/executor/slurm_steps.h"
#include "study/executor/ssh_executor.h"
#include "study/typed_section.h"

namespace tessera {
namespace {

struct ExecutorMaker {
  std::unique_ptr<Executor> operator()(const LocalOptions& /*options*/) const { return std::make_unique<LocalExecutor>(); }
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
