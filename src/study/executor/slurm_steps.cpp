#include "study/executor/slurm_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "core/error.h"
#include "launch/cluster/command_line.h"
#include "launch/numbers.h"
#include "study/executor/job_command.h"
#include "study/executor/slurm_shape.h"

namespace tessera {
namespace {

int64_t number_of(const char* variable) {
  const char* text = std::getenv(variable);
  return text != nullptr ? parse_whole(text).value_or(0) : 0;
}

}  // namespace

SlurmStepExecutor::SlurmStepExecutor(SlurmOptions options, std::vector<std::string> program)
    : options_(std::move(options)),
      program_(program.empty() ? std::vector{own_program()} : std::move(program)),
      sruns_(std::vector<std::string>{"srun"}) {
  if (std::getenv("SLURM_JOB_ID") == nullptr)
    fail_usage(
        "executor.allocation: this is no allocation of Slurm; start it by salloc or in a batch script, or leave allocation "
        "out for a job per trial");
}

void SlurmStepExecutor::start(const Job& job) {
  const SlurmShape shape = slurm_shape(job, options_);
  Job step = job;
  // Of its own cores and GPUs, beside the other steps.
  step.arguments = {"--exact",
                    "--kill-on-bad-exit=1",
                    "--job-name=" + job.name,
                    fmt::format("--nodes={}", shape.nodes),
                    fmt::format("--ntasks={}", shape.tasks),
                    fmt::format("--cpus-per-task={}", std::max<int64_t>(1, shape.cores_per_task))};
  if (shape.gpus_per_node > 0) step.arguments.push_back(fmt::format("--gpus-per-node={}", shape.gpus_per_node));
  if (options_.memory.empty()) {
    step.arguments.emplace_back("--mem=0");  // or the first step has all of it
  } else {
    step.arguments.push_back("--mem=" + options_.memory);
  }
  step.arguments.insert(step.arguments.end(), program_.begin(), program_.end());
  for (std::string& word : job_arguments(job)) step.arguments.push_back(std::move(word));
  step.ranks = 1;  // of srun itself
  step.cores = 0;
  step.gpus.clear();
  sruns_.start(step);
}

JobStatus SlurmStepExecutor::poll(const Job& job) {
  return sruns_.poll(job);
}

void SlurmStepExecutor::stop(const Job& job) {
  sruns_.stop(job);
}

// As many as fit its tasks, or else its cores.
std::optional<int> SlurmStepExecutor::most_at_once(const Job& job) const {
  if (options_.most_jobs > 0) return static_cast<int>(options_.most_jobs);
  const SlurmShape shape = slurm_shape(job, options_);
  const int64_t tasks = number_of("SLURM_NTASKS");
  if (tasks <= 0) return std::nullopt;
  return static_cast<int>(std::max<int64_t>(1, tasks / shape.tasks));
}

}  // namespace tessera
