#include "study/executor/slurm_executor.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "launch/cluster/command_line.h"
#include "launch/cluster/ssh_hosts.h"
#include "launch/node/command.h"
#include "study/executor/job_command.h"
#include "study/executor/job_files.h"
#include "study/executor/job_script.h"
#include "study/executor/slurm_shape.h"

namespace tessera {
namespace {

using State = JobStatus::State;

constexpr const char* kIdFile = "slurm_id";

// What identifies a job beside its name: studies of one name may lie in several places.
std::string comment_of(const Job& job) {
  return fs::absolute(job.folder).lexically_normal().string();
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find_first_of("\n;"));  // "12;cluster"
}

bool is_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string::npos;
}

// Whether Slurm, rather than the training, is why a job ended.
bool ended_by_slurm(const std::string& state) {
  return state == "CANCELLED" || state == "TIMEOUT" || state == "DEADLINE" || state == "OUT_OF_MEMORY" ||
         state == "PREEMPTED" || state == "NODE_FAIL";
}

}  // namespace

SlurmExecutor::SlurmExecutor(SlurmOptions options, std::vector<std::string> program)
    : options_(std::move(options)), program_(program.empty() ? std::vector{own_program()} : std::move(program)) {}

std::string SlurmExecutor::script(const Job& job) const {
  const SlurmShape shape = slurm_shape(job, options_);
  std::string heading =
      fmt::format("# {}: {} rank{}. Submit it with: sbatch {}\n", job.name, job.ranks, job.ranks == 1 ? "" : "s", kJobScript);
  const auto ask = [&](const std::string& option) { heading += "#SBATCH " + option + "\n"; };
  const auto quoted = [](const std::string& value) { return shell_quoted(value); };
  ask("--job-name=" + job.name);
  ask("--comment=" + quoted(comment_of(job)));
  ask("--output=" + quoted((fs::path(comment_of(job)) / kJobOutput).string()) + " --open-mode=append");
  ask(fmt::format("--nodes={} --ntasks={}", shape.nodes, shape.tasks));
  if (shape.nodes > 1) ask(fmt::format("--ntasks-per-node={}", shape.tasks_per_node));
  if (shape.cores_per_task > 0) ask(fmt::format("--cpus-per-task={}", shape.cores_per_task));
  if (shape.gpus_per_node > 0) ask(fmt::format("--gpus-per-node={}", shape.gpus_per_node));
  if (!options_.memory.empty()) ask("--mem=" + options_.memory);
  if (!options_.time.empty()) ask("--time=" + options_.time);
  if (!options_.partition.empty()) ask("--partition=" + options_.partition);
  if (!options_.account.empty()) ask("--account=" + options_.account);
  ask(fmt::format("--signal=USR1@{}", options_.save_s));  // the training saves and ends with 75; the next job goes on
  ask("--no-requeue");                                    // whoever follows the study decides
  for (const std::string& option : options_.sbatch) ask(option);
  JobScript parts{.heading = heading, .own_name = "$SLURM_JOB_ID", .setup = options_.setup, .command = program_};
  parts.before = {"srun", "--kill-on-bad-exit=1"};
  if (shape.cores_per_task > 0) parts.before.push_back(fmt::format("--cpus-per-task={}", shape.cores_per_task));
  for (std::string& word : job_arguments(job)) parts.command.push_back(std::move(word));
  return job_script(job.folder, parts);
}

void SlurmExecutor::write_script(const Job& job) const {
  make_folders(job.folder);
  write_file(job.folder / kJobScript, script(job));
}

// Asks squeue for all jobs of the user, at most every poll_s unless `anew`.
void SlurmExecutor::look(bool anew) {
  const double now = monotonic_s();
  if (!anew && looked_ >= 0 && now - looked_ < options_.poll_s) return;
  looked_ = now;
  const CommandResult answer = run_command(
      {"squeue", "--me", "--noheader", "--states=all", std::string("--format=") + kSqueueFormat}, options_.timeout_s);
  if (answer.ok()) {
    queue_.clear();
    for (SlurmJob& job : parse_squeue(answer.out)) queue_[job.id] = std::move(job);
    answered_ = now;
    return;
  }
  const double silent = answered_ < 0 ? 0 : now - answered_;
  if (anew || answered_ < 0 || silent > options_.patience_s)
    fail(
        "Slurm's squeue does not answer ({}). Nothing is lost: jobs that were submitted go on, and the same command follows "
        "them again",
        answer.complaint());
  log_warn("squeue does not answer ({}); asking again for {:.0f} s", answer.complaint(), options_.patience_s - silent);
}

std::vector<SlurmJob> SlurmExecutor::ask_accounts(const std::string& id) {
  if (!has_accounts_) return {};
  const CommandResult answer = run_command(
      {"sacct", "--noheader", "--parsable2", "--allocations", std::string("--format=") + kSacctFormat, "--jobs=" + id},
      options_.timeout_s);
  if (answer.ok()) return parse_sacct(answer.out);
  has_accounts_ = answer.timed_out;  // "Slurm accounting storage is disabled": it will not help later either
  return {};
}

// The job's number, if Slurm was ever given it.
std::optional<std::string> SlurmExecutor::id_of(const Job& job) {
  // Of two that were handed over, the one that runs it counts.
  if (const auto by = claimed_by(job.folder); by && is_number(*by)) return by;
  std::error_code error;
  const fs::path file = job.folder / kIdFile;
  if (fs::exists(file, error)) {
    const std::string id = first_line(read_text(file));
    if (is_number(id)) return id;
  }
  for (const auto& [id, known] : queue_) {
    if (known.name == job.name && known.comment == comment_of(job)) return id;
  }
  return std::nullopt;
}

const SlurmJob* SlurmExecutor::find(const Job& job) {
  const auto id = id_of(job);
  if (!id) return nullptr;
  if (const auto found = queue_.find(*id); found != queue_.end()) return &found->second;
  if (const auto found = accounts_.find(*id); found != accounts_.end()) return &found->second;
  const double now = monotonic_s();
  if (asked_accounts_ >= 0 && now - asked_accounts_ < options_.poll_s) return nullptr;
  asked_accounts_ = now;
  for (SlurmJob& known : ask_accounts(*id)) {
    if (is_over(known)) accounts_[known.id] = std::move(known);
  }
  const auto found = accounts_.find(*id);
  return found == accounts_.end() ? nullptr : &found->second;
}

JobStatus SlurmExecutor::status_from_slurm(const Job& job) {
  const SlurmJob* known = find(job);
  if (known != nullptr && !is_over(*known)) {
    gone_.erase(job.name);
    return status_of_slurm(*known);
  }
  const auto id = id_of(job);
  if (known == nullptr && !id && !claimed_by(job.folder)) return {};
  // Its exit code may be on its way through a network file system.
  const double since = gone_.emplace(job.name, monotonic_s()).first->second;
  if (monotonic_s() - since < options_.settle_s) return {.state = State::kRunning};
  if (known != nullptr) return status_of_slurm(*known);
  return {.state = State::kLost, .reason = fmt::format("Slurm no longer knows job {}", id.value_or("?"))};
}

JobStatus SlurmExecutor::poll(const Job& job) {
  std::error_code error;
  if (!fs::exists(job.folder / kJobScript, error)) return {};
  look(/*anew=*/false);
  const std::optional<int> code = read_exit_code(job.folder);
  if (!code) return status_from_slurm(job);
  JobStatus status{.state = State::kEnded, .exit_code = *code};
  if (*code == 0) return status;
  // Who ended it is known once Slurm is done with it.
  const SlurmJob* known = find(job);
  if (known != nullptr && !is_over(*known)) return {.state = State::kRunning};
  status.reason = known != nullptr && ended_by_slurm(known->state) ? known->state : last_output(job.folder);
  return status;
}

void SlurmExecutor::start(const Job& job) {
  std::error_code error;
  if (fs::exists(job.folder / kJobScript, error)) {
    look(/*anew=*/true);
    if (poll(job).state != State::kUnknown) return;
  }
  write_script(job);
  const fs::path script = fs::absolute(job.folder / kJobScript);
  const CommandResult answer = run_command({"sbatch", "--parsable", script.string()}, options_.timeout_s);
  const std::string id = first_line(answer.out);
  if (!answer.ok() || !is_number(id))
    fail("sbatch did not take the job {} ({}). The script is {}; {}, and the same command goes on from here", job.name,
         answer.complaint(), printable(script.string()),
         answer.timed_out ? "whether Slurm has it all the same is found out by its name" : "nothing was started");
  write_file(job.folder / kIdFile, id + "\n");
  queue_[id] = {.id = id, .name = job.name, .state = "PENDING", .comment = comment_of(job)};
}

void SlurmExecutor::stop(const Job& job) {
  const auto id = id_of(job);
  if (!id || read_exit_code(job.folder)) return;
  // One that waits is taken back, one that runs saves.
  for (const char* what : {"--state=PENDING", "--signal=TERM"}) {
    const CommandResult answer = run_command({"scancel", what, *id}, options_.timeout_s);
    if (answer.timed_out) fail("scancel does not answer; job {} of Slurm goes on", *id);
    if (!answer.ok()) log_debug("scancel {} {}: {}", what, *id, answer.complaint());
  }
}

std::optional<int> SlurmExecutor::most_at_once(const Job& /*job*/) const {
  return options_.most_jobs > 0 ? std::optional(static_cast<int>(options_.most_jobs)) : std::nullopt;
}

}  // namespace tessera
