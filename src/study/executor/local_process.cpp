#include "study/executor/local_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/node/affinity.h"
#include "launch/numbers.h"
#include "study/executor/job_files.h"

namespace tessera {
namespace {

constexpr const char* kProcessFile = "process";

std::span<const uint8_t> bytes_of(const std::string& text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// "4711 (name) S 1 ...": the name may hold anything, so fields are counted from its end.
void take_stat(const std::string& line, LocalProcess& process) {
  constexpr size_t kStart = 19;  // the 22nd field
  const size_t space = line.find(' '), end = line.rfind(')');
  if (space == std::string::npos || end == std::string::npos || end + 2 > line.size()) return;
  const std::vector<std::string> fields = split(std::string_view(line).substr(end + 2), ' ');
  if (fields.size() <= kStart) return;
  process.pid = static_cast<pid_t>(parse_whole(line.substr(0, space)).value_or(0));
  process.start = fields[kStart];
}

// Whether this very process is there and has not ended.
bool process_lives(const LocalProcess& process) {
  if (process.pid <= 0 || process.boot != boot_id()) return false;
  std::ifstream file(fmt::format("/proc/{}/stat", process.pid));
  std::string line;
  LocalProcess now;
  if (!std::getline(file, line)) return false;
  take_stat(line, now);
  const size_t end = line.rfind(')');
  return now.start == process.start && line.compare(end + 2, 1, "Z") != 0;
}

// What a process needs between fork and exec, made before: system calls only are allowed there, for another thread may have
// held a lock at the fork.
struct ExecPlan {
  int process_file, nothing, output, report, kept;
  const cpu_set_t* cpus;
  char* const* words;
  char* const* environment;
};

[[noreturn]] void become_job(const ExecPlan& plan) {
  setsid();
  std::array<char, 4096> line{};
  const int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t size = stat < 0 ? 0 : read(stat, line.data(), line.size());
  if (size <= 0 || write(plan.process_file, line.data(), static_cast<size_t>(size)) != size) {
    const int reason = errno;
    if (write(plan.report, &reason, sizeof(reason)) < 0) _exit(126);
    _exit(127);
  }
  dup2(plan.nothing, STDIN_FILENO);
  dup2(plan.output, STDOUT_FILENO);
  dup2(plan.output, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(plan.kept, F_SETFD, 0);
  if (plan.cpus != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), plan.cpus);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  execve(plan.words[0], plan.words, plan.environment);
  const int reason = errno;
  if (write(plan.report, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

// As execve takes them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// This process's variables and others, which go before its own.
std::vector<std::string> environment_with(const std::vector<std::string>& variables) {
  std::vector<std::string> all = variables;
  for (char** own = environ; *own != nullptr; ++own) {
    const std::string_view text = *own, name = text.substr(0, text.find('=') + 1);
    const auto has_name = [&](const std::string& other) { return other.starts_with(name); };
    if (std::none_of(variables.begin(), variables.end(), has_name)) all.emplace_back(text);
  }
  return all;
}

}  // namespace

std::string boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  std::getline(file, id);
  std::error_code error;
  return id + " " + fs::read_symlink("/proc/self/ns/pid", error).string();
}

std::optional<LocalProcess> read_local_process(const fs::path& folder) {
  std::ifstream file(folder / kProcessFile);
  if (!file) return std::nullopt;
  LocalProcess process;
  for (std::string line; std::getline(file, line);) {
    const size_t space = line.find(' ');
    const std::string word = line.substr(0, space), rest = space == std::string::npos ? "" : line.substr(space + 1);
    if (word == "host") {
      process.host = rest;
    } else if (word == "boot") {
      process.boot = rest;
    } else if (word == "cpus") {
      process.cpus = parse_cpu_list(rest);
    } else {
      take_stat(line, process);
    }
  }
  return process;
}

bool is_alive(const fs::path& folder, const LocalProcess& process) {
  const Descriptor file(folder / kProcessFile, O_RDONLY);
  int failed = file.ok() ? EINTR : ENOLCK;
  while (failed == EINTR) failed = flock(file.get(), LOCK_SH | LOCK_NB) == 0 ? 0 : errno;
  if (failed == EWOULDBLOCK) return true;
  return failed != 0 && process_lives(process);  // there are no locks here
}

std::optional<JobClaim> claim_job(const fs::path& folder, const std::vector<int>& cpus) {
  const fs::path path = folder / kProcessFile;
  JobClaim claim{Descriptor(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0666), {}};
  if (!claim.process.ok() && errno == EEXIST) return std::nullopt;
  TSR_CHECK(claim.process.ok(), "cannot write {}: {}", printable(path.string()), std::strerror(errno));
  const auto give_up = [&](const char* what, int reason) {
    give_up_claim(folder);
    fail("{}: cannot write its {}: {}", printable(folder.string()), what, std::strerror(reason));
  };
  flock(claim.process.get(), LOCK_EX | LOCK_NB);  // where there are none, is_alive() does without
  const std::string text = fmt::format("host {}\nboot {}\ncpus {}\n", host_name(), boot_id(), fmt::join(cpus, ","));
  if (!put_all(claim.process, bytes_of(text))) give_up("file `process`", errno);
  claim.output = Descriptor(folder / kJobOutput, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (!claim.output.ok()) give_up("output", errno);
  return claim;
}

void give_up_claim(const fs::path& folder) {
  fs::remove(folder / kProcessFile);
}

bool note_process(const JobClaim& claim, pid_t pid) {
  std::ifstream file(fmt::format("/proc/{}/stat", pid));
  std::string line;
  return std::getline(file, line) && put_all(claim.process, bytes_of(line + "\n"));
}

pid_t start_detached(const fs::path& folder, const JobClaim& claim, const DetachedProgram& program) {
  const auto give_up = [&](const char* what, int reason) {
    give_up_claim(folder);
    fail("{}: cannot {}: {}", printable(folder.string()), what, std::strerror(reason));
  };
  const Descriptor nothing("/dev/null", O_RDONLY);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("make a pipe", errno);
  Descriptor reading(ends[0]), writing(ends[1]);
  const cpu_set_t set = to_cpu_set({program.cpus});
  std::vector<std::string> words = program.words, environment = environment_with(program.variables);
  const std::vector<char*> argv = pointers_to(words), envp = pointers_to(environment);
  const ExecPlan plan{.process_file = claim.process.get(),
                      .nothing = nothing.get(),
                      .output = claim.output.get(),
                      .report = writing.get(),
                      .kept = program.kept,
                      .cpus = program.cpus.empty() ? nullptr : &set,
                      .words = argv.data(),
                      .environment = envp.data()};
  const pid_t pid = fork();
  if (pid < 0) give_up("start a process", errno);
  if (pid == 0) become_job(plan);
  writing = Descriptor();
  int reason = 0;
  ssize_t got = 0;
  do got = read(reading.get(), &reason, sizeof(reason));
  while (got < 0 && errno == EINTR);
  if (got == sizeof(reason)) {
    waitpid(pid, nullptr, 0);
    give_up("start it", reason);
  }
  return pid;
}

}  // namespace tessera
