#include "launch/node/process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "core/error.h"
#include "launch/node/guard.h"

namespace tessera {
namespace {

struct Pipe {
  FileHandle read, write;
  Pipe() {
    std::array<int, 2> ends{};
    TSR_CHECK(pipe2(ends.data(), O_CLOEXEC) == 0, "cannot make a pipe: {}", std::strerror(errno));
    read = FileHandle(ends[0]);
    write = FileHandle(ends[1]);
  }
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> found;
  for (const std::string& text : texts) found.push_back(const_cast<char*>(text.c_str()));
  found.push_back(nullptr);
  return found;
}

// Everything between fork and exec: system calls only, for another thread may have held a lock at the fork.
[[noreturn]] void become(const ProcessSpec& spec, char* const* words, char* const* environment, pid_t parent, int in, int out,
                         int err, int report) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setpgid(0, 0);
  if (getppid() != parent) _exit(1);  // it had gone before we asked to be told
  guard_group(getpid());
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (const int fd : spec.inherited) fcntl(fd, F_SETFD, 0);
  if (spec.cores) sched_setaffinity(0, sizeof(cpu_set_t), &*spec.cores);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  execvpe(spec.file.empty() ? words[0] : spec.file.c_str(), words, environment);
  const int reason = errno;
  if (write(report, &reason, sizeof(reason)) < 0) _exit(126);
  _exit(127);
}

}  // namespace

Process::Process(const ProcessSpec& spec) {
  Pipe out, err, report;
  std::optional<Pipe> in;
  FileHandle nothing(open("/dev/null", O_RDONLY | O_CLOEXEC));
  if (spec.pipe_stdin) in.emplace();
  const std::vector<char*> words = pointers(spec.words), environment = pointers(spec.environment);
  const pid_t parent = getpid();
  start_guard();
  pid_ = fork();
  TSR_CHECK(pid_ >= 0, "cannot start a process: {}", std::strerror(errno));
  if (pid_ == 0) {
    become(spec, words.data(), environment.data(), parent, in ? in->read.fd() : nothing.fd(), out.write.fd(), err.write.fd(),
           report.write.fd());
  }
  setpgid(pid_, pid_);  // here too: whoever comes first
  report.write.close();
  int reason = 0;
  ssize_t got = 0;
  do got = read(report.read.fd(), &reason, sizeof(reason));
  while (got < 0 && errno == EINTR);
  if (got == sizeof(reason)) {
    waitpid(pid_, nullptr, 0);
    release_group(pid_);
    fail("cannot start '{}': {}", spec.words.front(), std::strerror(reason));
  }
  out_ = std::move(out.read);
  err_ = std::move(err.read);
  if (in) in_ = std::move(in->write);
  for (const int fd : {out_.fd(), err_.fd()}) fcntl(fd, F_SETFL, O_NONBLOCK);
}

Process::~Process() {
  signal(SIGKILL);
  // A process in a hung file system dies when the system lets it; we do not wait for that.
  for (int tries = 0; tries < 500 && !reap(); ++tries) usleep(10000);
  release_group(pid_);
}

void Process::signal(int number) const {
  kill(-pid_, number);
}

bool Process::reap() {
  int status = 0;
  if (ended_ || waitpid(pid_, &status, WNOHANG) != pid_) return ended_;
  ended_ = true;
  if (WIFSIGNALED(status)) killed_by_ = WTERMSIG(status);
  if (WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  return true;
}

std::string signal_name(int number) {
  const char* name = sigabbrev_np(number);
  return name != nullptr ? name : std::to_string(number);
}

}  // namespace tessera
