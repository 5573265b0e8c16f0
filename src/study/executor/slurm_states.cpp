#include "study/executor/slurm_states.h"

#include <algorithm>
#include <array>
#include <csignal>

#include "core/split.h"

namespace tessera {
namespace {

using State = JobStatus::State;

// What sbatch(1) and squeue(1) call the states of a job (JOB STATE CODES). Those that come between running and being over are
// running for us.
struct Meaning {
  std::string_view name;
  State state;
  int exit_code = 0;
};
constexpr int kTerm = 128 + SIGTERM, kKill = 128 + SIGKILL;
constexpr std::array kMeanings{
    Meaning{"PENDING", State::kWaiting},
    Meaning{"CONFIGURING", State::kWaiting},
    Meaning{"REQUEUED", State::kWaiting},
    Meaning{"REQUEUE_HOLD", State::kWaiting},
    Meaning{"REQUEUE_FED", State::kWaiting},
    Meaning{"SPECIAL_EXIT", State::kWaiting},
    Meaning{"RESV_DEL_HOLD", State::kWaiting},
    Meaning{"RUNNING", State::kRunning},
    Meaning{"COMPLETING", State::kRunning},
    Meaning{"SIGNALING", State::kRunning},
    Meaning{"STAGE_OUT", State::kRunning},
    Meaning{"STOPPED", State::kRunning},
    Meaning{"SUSPENDED", State::kRunning},
    Meaning{"RESIZING", State::kRunning},
    // The script writes its exit code before it ends; where there is none it was ended from outside.
    Meaning{"COMPLETED", State::kLost},
    Meaning{"FAILED", State::kEnded, 1},
    Meaning{"TIMEOUT", State::kEnded, kTerm},
    Meaning{"DEADLINE", State::kEnded, kTerm},
    Meaning{"CANCELLED", State::kEnded, kTerm},
    Meaning{"OUT_OF_MEMORY", State::kEnded, kKill},
    Meaning{"NODE_FAIL", State::kLost},
    Meaning{"BOOT_FAIL", State::kLost},
    Meaning{"PREEMPTED", State::kLost},
    Meaning{"REVOKED", State::kLost},
};

const Meaning* meaning_of(const std::string& state) {
  const auto* const found =
      std::find_if(kMeanings.begin(), kMeanings.end(), [&](const Meaning& meaning) { return meaning.name == state; });
  return found == kMeanings.end() ? nullptr : found;
}

// The last column may hold the separator.
std::vector<std::vector<std::string>> rows_of(std::string_view text, size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (const std::string& line : split(text, '\n')) {
    std::vector<std::string> parts = split(line, '|');
    if (parts.size() < columns || parts[0].empty() || std::isdigit(static_cast<unsigned char>(parts[0][0])) == 0) continue;
    while (parts.size() > columns) {
      parts[columns - 1] += "|" + parts[columns];
      parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(columns));
    }
    rows.push_back(std::move(parts));
  }
  return rows;
}

}  // namespace

std::vector<SlurmJob> parse_squeue(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (auto& row : rows_of(text, 5)) jobs.push_back({row[0], row[3], row[1], row[2] == "None" ? "" : row[2], row[4]});
  return jobs;
}

std::vector<SlurmJob> parse_sacct(std::string_view text) {
  std::vector<SlurmJob> jobs;
  for (auto& row : rows_of(text, 3)) jobs.push_back({row[0], row[2], row[1].substr(0, row[1].find(' ')), "", ""});
  return jobs;
}

JobStatus status_of_slurm(const SlurmJob& job) {
  const Meaning* meaning = meaning_of(job.state);
  // A state of a later Slurm: it is watched further, and whoever reads the status sees the word.
  if (meaning == nullptr) return {.state = State::kRunning, .reason = job.state};
  JobStatus status{.state = meaning->state, .exit_code = meaning->exit_code};
  const bool over = status.state == State::kEnded || status.state == State::kLost;
  status.reason = over ? job.state : status.state == State::kWaiting ? job.reason : "";
  return status;
}

bool is_over(const SlurmJob& job) {
  const State state = status_of_slurm(job).state;
  return state == State::kEnded || state == State::kLost;
}

}  // namespace tessera
