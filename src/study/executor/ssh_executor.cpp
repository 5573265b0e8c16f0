#include "study/executor/ssh_executor.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <sstream>

#include "core/clock.h"
#include "core/error.h"
#include "core/files.h"
#include "core/log.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/cluster/command_line.h"
#include "launch/cluster/passed_on.h"
#include "launch/cluster/ssh_hosts.h"
#include "launch/node/command.h"
#include "launch/numbers.h"
#include "study/executor/job_command.h"
#include "study/executor/job_files.h"
#include "study/executor/job_script.h"

namespace tessera {
namespace {

using State = JobStatus::State;

constexpr const char* kPlaceFile = "place";
constexpr double kDown_s = 60;
constexpr int kSshFailed = 255;

std::string absolute_text(const fs::path& path) {
  return fs::absolute(path).lexically_normal().string();
}

// "node1 4711 boot": who runs a job.
struct Runner {
  std::string host, session, boot;
  explicit Runner(const std::string& text) { std::istringstream(text) >> host >> session >> boot; }
};

std::vector<Host> read_hosts(const std::vector<std::string>& written) {
  if (written.empty()) fail_usage("no hosts to run on; expected e.g. hosts: [node1:4, node2:4]");
  std::vector<Host> hosts = parse_hosts(fmt::format("{}", fmt::join(written, ",")));
  for (Host& host : hosts) host.ranks = std::max(1, host.ranks);
  return hosts;
}

}  // namespace

SshExecutor::SshExecutor(SshOptions options, std::vector<std::string> program)
    : options_(std::move(options)),
      program_(program.empty() ? std::vector{own_program()} : std::move(program)),
      hosts_(read_hosts(options_.hosts)),
      answers_(hosts_.size()) {}

std::vector<std::string> SshExecutor::on_host(size_t host, const std::string& command) const {
  std::vector<std::string> words;
  std::istringstream ssh(options_.ssh);
  for (std::string word; ssh >> word;) words.push_back(word);
  words.push_back(hosts_[host].name);
  words.push_back("exec sh -c " + shell_quoted(command));  // the user's own shell may be another one
  return words;
}

std::optional<size_t> SshExecutor::host_named(const std::string& name) const {
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (hosts_[host].name == name) return host;
  }
  return std::nullopt;
}

// A line per host: "node1 0,1".
std::string SshExecutor::place_text(const Place& place) const {
  std::string text;
  for (const Slots& slots : place) text += fmt::format("{} {}\n", hosts_[slots.host].name, fmt::join(slots.numbers, ","));
  return text;
}

SshExecutor::Place SshExecutor::read_place(const Job& job) const {
  std::error_code error;
  if (!fs::exists(job.folder / kPlaceFile, error)) return {};
  Place place;
  for (const std::string& line : read_lines(job.folder / kPlaceFile)) {
    const size_t space = line.find(' ');
    const auto host = host_named(line.substr(0, space));
    if (!host || space == std::string::npos) return {};  // a host that the study no longer has
    Slots& slots = place.emplace_back(Slots{*host, {}});
    for (const std::string& number : split(line.substr(space + 1), ','))
      slots.numbers.push_back(static_cast<int>(parse_whole(number).value_or(0)));
  }
  return place;
}

// One host where the job fits, the one with the fewest free slots; else as many as it takes.
SshExecutor::Place SshExecutor::free_place(const Job& job) const {
  std::vector<std::vector<int>> free(hosts_.size());
  for (size_t host = 0; host < hosts_.size(); ++host) {
    if (monotonic_s() < answers_[host].down_until) continue;
    std::set<int> taken;
    for (const auto& [name, place] : used_) {
      for (const Slots& slots : place) {
        if (slots.host == host) taken.insert(slots.numbers.begin(), slots.numbers.end());
      }
    }
    for (int slot = 0; slot < hosts_[host].ranks; ++slot) {
      if (!taken.contains(slot)) free[host].push_back(slot);
    }
  }
  const auto wanted = static_cast<size_t>(job.ranks);
  std::optional<size_t> best;
  for (size_t host = 0; host < free.size(); ++host) {
    if (free[host].size() >= wanted && (!best || free[host].size() < free[*best].size())) best = host;
  }
  if (best) return {{*best, {free[*best].begin(), free[*best].begin() + job.ranks}}};
  Place place;
  size_t missing = job.threads ? wanted + 1 : wanted;  // threads are of one host
  for (size_t host = 0; host < free.size() && missing > 0 && !job.threads; ++host) {
    const size_t some = std::min(missing, free[host].size());
    if (some == 0) continue;
    place.push_back({host, {free[host].begin(), free[host].begin() + static_cast<std::ptrdiff_t>(some)}});
    missing -= some;
  }
  return missing == 0 ? place : Place{};
}

std::string SshExecutor::script(const Job& job, const Place& place) const {
  std::vector<std::string> words = program_, hosts;
  for (const Slots& slots : place) hosts.push_back(fmt::format("{}:{}", hosts_[slots.host].name, slots.numbers.size()));
  if (place.size() > 1) {
    words.insert(words.end(), {"launch", "--hosts", fmt::format("{}", fmt::join(hosts, ",")), "--log-dir",
                               absolute_text(job.folder / "logs")});
    if (options_.ssh != SshOptions().ssh) words.insert(words.end(), {"--ssh", options_.ssh});
    words.emplace_back("--");
  }
  for (std::string& word : job_arguments(job)) words.push_back(std::move(word));
  auto variables = passed_on_variables();
  std::erase_if(variables, [](const auto& variable) { return variable.first == "CUDA_VISIBLE_DEVICES"; });
  const std::vector<int>& gpus = job.gpus.empty() ? place.front().numbers : job.gpus;
  if (options_.gpus && place.size() == 1)
    variables.emplace_back("CUDA_VISIBLE_DEVICES", fmt::format("{}", fmt::join(gpus, ",")));
  return job_script(job.folder, {.heading = fmt::format("# {}: {} rank{} on {}\n", job.name, job.ranks,
                                                        job.ranks == 1 ? "" : "s", fmt::join(hosts, ", ")),
                                 .own_name = "\"$TESSERA_JOB_HOST $$ $(cat /proc/sys/kernel/random/boot_id)\"",
                                 .variables = variables,
                                 .setup = options_.setup,
                                 .command = words});
}

// Once per host: whether it sees what this one sees.
void SshExecutor::check_host(size_t host, const Job& job) {
  if (checked_.contains(host)) return;
  const std::string file = absolute_text(job.folder / kPlaceFile);
  const CommandResult answer =
      run_command(on_host(host, fmt::format("cat {} && command -v {} >/dev/null && cd {} && echo fine", shell_quoted(file),
                                            shell_quoted(program_.front()), shell_quoted(fs::current_path().string()))),
                  options_.timeout_s);
  if (answer.timed_out || answer.exit_code == kSshFailed) return;  // that is for start_at to say
  if (answer.out != read_text(file) + "fine\n")
    fail(
        "the host {} does not see what this one sees ({}); expected the same {} there, the program {} and the folder {}: a "
        "folder that all hosts share",
        hosts_[host].name, answer.complaint(), file, program_.front(), fs::current_path().string());
  checked_.insert(host);
}

// False where the host cannot be reached.
bool SshExecutor::start_at(const Job& job, const Place& place) {
  write_file(job.folder / kJobScript, script(job, place));
  write_file(job.folder / kPlaceFile, place_text(place));
  const size_t host = place.front().host;
  check_host(host, job);
  const std::string text = absolute_text(job.folder / kJobScript), output = absolute_text(job.folder / kJobOutput);
  // It stays until the script has begun: before that, the new process may still be one of those that end with this command.
  const std::string command = fmt::format(
      "TESSERA_JOB_HOST={} setsid -f bash {} </dev/null >>{} 2>&1 || exit 1; n=0; while ! test -e {} && test $n -lt 200; do "
      "sleep 0.1; n=$((n+1)); done",
      shell_quoted(hosts_[host].name), shell_quoted(text), shell_quoted(output),
      shell_quoted(absolute_text(job.folder / kJobClaim)));
  const CommandResult answer = run_command(on_host(host, command), options_.timeout_s);
  if (answer.ok() || claimed_by(job.folder)) {
    handed_over_[job.name] = monotonic_s();
    used_[job.name] = place;
    return true;
  }
  if (!answer.timed_out && answer.exit_code != kSshFailed)
    fail("{} cannot start the job {} ({})", hosts_[host].name, job.name, answer.complaint());
  answers_[host].down_until = monotonic_s() + kDown_s;
  log_warn("{} cannot be reached ({}); other hosts are tried", hosts_[host].name, answer.complaint());
  return false;
}

void SshExecutor::start(const Job& job) {
  make_folders(job.folder);
  if (poll(job).state != State::kUnknown) return;
  // Where an earlier controller handed it over, it may be on its way.
  if (const Place place = read_place(job); !place.empty() && start_at(job, place)) return;
  for (size_t tries = 0; tries < hosts_.size(); ++tries) {
    const Place place = free_place(job);
    if (place.empty()) break;
    if (start_at(job, place)) return;
  }
  int slots = 0, most = 0;
  for (const Host& host : hosts_) {
    slots += host.ranks;
    most = std::max(most, host.ranks);
  }
  if (job.ranks > (job.threads ? most : slots))
    fail_usage("the job {} has {} {}, the hosts take {}; expected hosts with more slots", job.name, job.ranks,
               job.threads ? "threads of one process (dp)" : "ranks", job.threads ? most : slots);
  fail(
      "no host takes the job {}: none that can be reached has {} free slot{}. Nothing was started, and the same command goes "
      "on from here",
      job.name, job.ranks, job.ranks == 1 ? "" : "s");
}

// Asks a host which of this user's sessions live, at most every poll_s.
void SshExecutor::look(size_t host) {
  Answer& answer = answers_[host];
  const double now = monotonic_s();
  if (answer.asked >= 0 && now - answer.asked < options_.poll_s) return;
  if (answer.asked < 0) answer.answered = now;  // its silence begins with the first question
  answer.asked = now;
  const CommandResult said = run_command(
      on_host(host, "cat /proc/sys/kernel/random/boot_id && ps -u \"$(id -u)\" -o pgid=,stat="), options_.timeout_s);
  if (!said.ok()) {
    answer.down_until = now + kDown_s;
    if (answer.warned >= 0 && now - answer.warned < kDown_s) return;
    answer.warned = now;
    log_warn("{} does not answer ({}); its jobs count as running for {:.0f} s more", hosts_[host].name, said.complaint(),
             std::max(0.0, options_.lost_after_s - (now - answer.answered)));
    return;
  }
  std::istringstream words(said.out);
  words >> answer.boot;
  answer.sessions.clear();
  for (std::string session, stat; words >> session >> stat;) {
    if (!stat.starts_with("Z")) answer.sessions.insert(session);
  }
  answer.answered = now;
  answer.warned = -1;
  answer.down_until = 0;
}

JobStatus SshExecutor::status_from_host(const Job& job, const std::string& by) {
  const Runner runner(by);
  const auto host = host_named(runner.host);
  if (!by.empty() && !host)
    return {.state = State::kLost, .reason = fmt::format("it was started on {}, which is no host of the study any more", by)};
  bool lives = false;
  std::string reason;
  if (host) {
    look(*host);
    const Answer& answer = answers_[*host];
    const double silent = monotonic_s() - answer.answered;
    if (answer.answered < answer.asked) {
      if (silent > options_.lost_after_s)
        return {.state = State::kLost, .reason = fmt::format("{} has not answered for {:.0f} s", runner.host, silent)};
      return {.state = State::kRunning, .reason = fmt::format("{} does not answer", runner.host)};
    }
    const bool same_boot = answer.boot == runner.boot;
    lives = same_boot && answer.sessions.contains(runner.session);
    if (!same_boot) reason = fmt::format("{} was started anew", runner.host);
  }
  if (lives) {
    gone_.erase(job.name);
    return {.state = State::kRunning};
  }
  const double since = gone_.emplace(job.name, monotonic_s()).first->second;
  if (monotonic_s() - since < options_.settle_s) return {.state = State::kRunning};
  return {.state = State::kLost, .reason = reason.empty() ? last_output(job.folder) : reason};
}

JobStatus SshExecutor::poll(const Job& job) {
  std::error_code error;
  if (!fs::exists(job.folder / kJobScript, error)) return {};
  JobStatus status;
  if (const auto code = read_exit_code(job.folder)) {
    status = {.state = State::kEnded, .exit_code = *code, .reason = *code == 0 ? "" : last_output(job.folder)};
  } else if (const auto by = claimed_by(job.folder)) {
    status = status_from_host(job, *by);
  } else if (const auto handed = handed_over_.find(job.name);
             handed != handed_over_.end() && monotonic_s() - handed->second < options_.settle_s) {
    status.state = State::kRunning;
  }
  if (status.state == State::kRunning) {
    if (!used_.contains(job.name)) used_[job.name] = read_place(job);
  } else {
    used_.erase(job.name);
  }
  return status;
}

void SshExecutor::stop(const Job& job) {
  const auto by = claimed_by(job.folder);
  if (!by || read_exit_code(job.folder)) return;
  const Runner runner(*by);
  const auto host = host_named(runner.host);
  if (!host || !parse_whole(runner.session)) return;
  // The number means the job only as long as the machine was not started anew.
  const CommandResult answer = run_command(
      on_host(*host,
              fmt::format("test \"$(cat /proc/sys/kernel/random/boot_id)\" = {} && {{ kill -TERM -{} 2>/dev/null || true; }}",
                          shell_quoted(runner.boot), runner.session)),
      options_.timeout_s);
  if (!answer.ok()) fail("{} does not answer ({}); the job {} goes on", runner.host, answer.complaint(), job.name);
}

bool SshExecutor::has_room(const Job& job) const {
  return !free_place(job).empty();
}

std::optional<int> SshExecutor::most_at_once(const Job& job) const {
  int whole = 0, slots = 0;
  for (const Host& host : hosts_) {
    whole += host.ranks / std::max(1, job.ranks);
    slots += host.ranks;
  }
  return whole > 0 || job.threads ? whole : slots / std::max(1, job.ranks);
}

}  // namespace tessera
