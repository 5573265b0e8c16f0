#include "study/executor/local_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>

#include "core/descriptor.h"
#include "core/error.h"
#include "core/files.h"
#include "core/host_name.h"
#include "core/printable.h"
#include "core/split.h"
#include "launch/node/affinity.h"
#include "launch/numbers.h"

namespace tessera {
namespace {

constexpr const char* kProcessFile = "process";

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

// Everything between fork and exec: system calls only, for another thread may have held a lock at the fork.
[[noreturn]] void become_job(int process_file, int nothing, int output, int report, const cpu_set_t* cpus, const char* script) {
  setsid();
  std::array<char, 4096> line{};
  const int stat = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
  const ssize_t size = stat < 0 ? 0 : read(stat, line.data(), line.size());
  if (size <= 0 || write(process_file, line.data(), static_cast<size_t>(size)) != size) {
    const int reason = errno;
    if (write(report, &reason, sizeof(reason)) < 0) _exit(126);
    _exit(127);
  }
  dup2(nothing, STDIN_FILENO);
  dup2(output, STDOUT_FILENO);
  dup2(output, STDERR_FILENO);
  close_range(STDERR_FILENO + 1, ~0U, CLOSE_RANGE_CLOEXEC);
  fcntl(process_file, F_SETFD, 0);  // the lock is all its processes'
  if (cpus != nullptr) sched_setaffinity(0, sizeof(cpu_set_t), cpus);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (const int number : {SIGPIPE, SIGXFSZ, SIGINT, SIGTERM, SIGHUP}) ::signal(number, SIG_DFL);
  execl("/bin/sh", "sh", script, static_cast<char*>(nullptr));
  const int reason = errno;
  if (write(report, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
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

pid_t start_detached(const fs::path& folder, const fs::path& script, const fs::path& output, const std::vector<int>& cpus) {
  const fs::path path = folder / kProcessFile;
  const Descriptor file(path, O_RDWR | O_CREAT | O_EXCL | O_APPEND, 0666);
  if (!file.ok() && errno == EEXIST) return 0;
  TSR_CHECK(file.ok(), "cannot write {}: {}", printable(path.string()), std::strerror(errno));
  const auto give_up = [&](const char* what, int reason) {
    fs::remove(path);
    fail("{}: cannot {}: {}", printable(folder.string()), what, std::strerror(reason));
  };
  flock(file.get(), LOCK_EX | LOCK_NB);  // where there are none, is_alive() does without
  const std::string text = fmt::format("host {}\nboot {}\ncpus {}\n", host_name(), boot_id(), fmt::join(cpus, ","));
  if (!put_all(file, {reinterpret_cast<const uint8_t*>(text.data()), text.size()})) give_up("write its file `process`", errno);
  const Descriptor nothing("/dev/null", O_RDONLY), out(output, O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (!out.ok()) give_up("write its output", errno);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0) give_up("make a pipe", errno);
  Descriptor reading(ends[0]), writing(ends[1]);
  const cpu_set_t set = to_cpu_set({cpus});
  const pid_t pid = fork();
  if (pid < 0) give_up("start a process", errno);
  if (pid == 0) become_job(file.get(), nothing.get(), out.get(), writing.get(), cpus.empty() ? nullptr : &set, script.c_str());
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
