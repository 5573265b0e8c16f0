#include "study/executor/local_executor.h"

#include <fmt/ranges.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>

#include "core/cpu_budget.h"
#include "core/error.h"
#include "core/files.h"
#include "core/printable.h"
#include "core/split.h"
#include "study/executor/job_command.h"
#include "study/executor/job_files.h"
#include "study/executor/job_script.h"
#include "study/executor/local_process.h"

namespace tessera {
namespace {

// GPUs are counted among those that this process may see.
std::string visible_devices(const std::vector<int>& gpus) {
  const char* own = std::getenv("CUDA_VISIBLE_DEVICES");
  const std::vector<std::string> seen = own != nullptr ? split(own, ',') : std::vector<std::string>{};
  std::vector<std::string> names;
  for (const int gpu : gpus) {
    const auto place = static_cast<size_t>(gpu);
    names.push_back(place < seen.size() ? seen[place] : std::to_string(gpu));
  }
  return fmt::format("{}", fmt::join(names, ","));
}

std::vector<std::string> command_of(const Job& job, const std::vector<std::string>& program) {
  std::vector<std::string> words = program;
  for (std::string& word : job_arguments(job)) words.push_back(std::move(word));
  return words;
}

}  // namespace

LocalExecutor::LocalExecutor(std::vector<std::string> program, std::vector<std::string> worker)
    : program_(std::move(program)), cores_(allowed_cores()), cpu_quota_(cpu_budget().cpus()), workers_(std::move(worker)) {
  if (program_.empty()) program_ = {fs::read_symlink("/proc/self/exe").string()};
}

std::set<int> LocalExecutor::taken_cpus() const {
  std::set<int> taken;
  for (const auto& [name, cpus] : bound_) taken.insert(cpus.begin(), cpus.end());
  return taken;
}

std::vector<int> LocalExecutor::free_cpus(int wanted_cores) const {
  const std::set<int> taken = taken_cpus();
  std::vector<int> cpus;
  int found = 0;
  for (const Core& core : cores_) {
    if (found == wanted_cores) break;
    if (std::any_of(core.begin(), core.end(), [&](int cpu) { return taken.contains(cpu); })) continue;
    cpus.insert(cpus.end(), core.begin(), core.end());
    ++found;
  }
  // Rather anywhere than bound beside others.
  return found == wanted_cores ? cpus : std::vector<int>{};
}

void LocalExecutor::start(const Job& job) {
  make_folders(job.folder);
  if (read_local_process(job.folder)) return;
  WorkerPool::Place place{.variables = {}, .cpus = free_cpus(job.cores)};
  JobScript parts{.heading = fmt::format("# {}\n", job.name), .command = command_of(job, program_)};
  if (!job.gpus.empty()) {
    parts.variables.emplace_back("CUDA_VISIBLE_DEVICES", visible_devices(job.gpus));
    place.variables.push_back("CUDA_VISIBLE_DEVICES=" + parts.variables.back().second);
  }
  const fs::path script = job.folder / kJobScript;
  write_file(script, job_script(job.folder, parts));
  const std::vector<std::string> words = job_arguments(job);
  const bool in_worker = job.may_follow && workers_.has_workers() && can_be_handed(job.folder, words);
  if (in_worker) place = workers_.place_for(place, taken_cpus());
  std::optional<JobClaim> claim = claim_job(job.folder, place.cpus);
  if (!claim) return;
  if (in_worker) {
    workers_.start(job.name, job.folder, words, place, std::move(*claim));
  } else {
    // The lock is all its processes'.
    children_[job.name] = start_detached(
        job.folder, *claim, {.words = {"/bin/sh", script.string()}, .cpus = place.cpus, .kept = claim->process.get()});
  }
  if (!place.cpus.empty()) bound_[job.name] = place.cpus;
}

JobStatus LocalExecutor::poll(const Job& job) {
  if (const auto child = children_.find(job.name); child != children_.end() && waitpid(child->second, nullptr, WNOHANG) != 0)
    children_.erase(child);
  workers_.look();
  const std::optional<LocalProcess> process = read_local_process(job.folder);
  if (!process) return {};
  // A job that ends between two looks leaves its code before its lock goes.
  const bool alive = !read_exit_code(job.folder) && is_alive(job.folder, *process);
  if (alive) {
    if (!process->cpus.empty()) bound_[job.name] = process->cpus;
    return {.state = JobStatus::State::kRunning};
  }
  bound_.erase(job.name);
  if (!read_exit_code(job.folder)) workers_.wait_for_end(job.name);
  const std::optional<int> code = read_exit_code(job.folder);
  workers_.note_end(job.name, code.value_or(1));
  if (!code) return {.state = JobStatus::State::kLost, .reason = last_output(job.folder)};
  return {.state = JobStatus::State::kEnded, .exit_code = *code, .reason = *code == 0 ? "" : last_output(job.folder)};
}

void LocalExecutor::stop(const Job& job) {
  const std::optional<LocalProcess> process = read_local_process(job.folder);
  if (!process || process->pid <= 0 || read_exit_code(job.folder) || !is_alive(job.folder, *process)) return;
  TSR_CHECK(process->boot == boot_id(), "the job {} runs on another machine or in another container, {}; stop it from there",
            job.name, printable(process->host));
  // The group's number cannot have been given anew while one of its processes lives.
  if (kill(-process->pid, SIGTERM) != 0 && errno != ESRCH)
    fail("cannot stop the job {} (process {}): {}", job.name, process->pid, std::strerror(errno));
  workers_.note_stop(job.name);
}

std::optional<int> LocalExecutor::most_at_once(const Job& job) const {
  const int cores = std::max(1, std::min(static_cast<int>(cores_.size()), static_cast<int>(cpu_quota_)));
  return std::max(1, cores / std::max(1, job.cores));
}

}  // namespace tessera
