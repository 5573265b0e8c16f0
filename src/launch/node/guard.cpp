#include "launch/node/guard.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <set>

#include "launch/node/file_handle.h"

namespace tessera {
namespace {

void ignore_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGPIPE}) ::signal(number, SIG_IGN);
}

// Numbers above zero are groups to remember, below zero groups to forget.
[[noreturn]] void watch_over(int pipe) {
  setsid();
  ignore_signals();
  prctl(PR_SET_NAME, "tessera-guard");
  close_range(0, static_cast<unsigned>(pipe) - 1, 0);
  close_range(static_cast<unsigned>(pipe) + 1, ~0U, 0);
  std::set<pid_t> groups;
  pid_t message = 0;
  for (;;) {
    const ssize_t got = read(pipe, &message, sizeof(message));
    if (got < 0 && errno == EINTR) continue;
    if (got != sizeof(message)) break;
    if (message > 0) groups.insert(message);
    if (message < 0) groups.erase(-message);
  }
  for (const pid_t group : groups) kill(-group, SIGKILL);
  _exit(0);
}

class Guard {
 public:
  Guard() {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return;
    pid_ = fork();
    if (pid_ == 0) {
      ::close(ends[1]);
      watch_over(ends[0]);
    }
    ::close(ends[0]);
    pipe_ = FileHandle(ends[1]);
  }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  ~Guard() {
    pipe_.close();
    if (pid_ > 0) waitpid(pid_, nullptr, 0);
  }

  // Without a guard (no process to be had, or killed) the kernel still ends our direct children.
  void tell(pid_t message) const {
    if (pid_ > 0 && write(pipe_.fd(), &message, sizeof(message)) < 0) return;
  }

 private:
  FileHandle pipe_;
  pid_t pid_ = -1;
};

Guard& guard() {
  static Guard instance;
  return instance;
}

}  // namespace

void start_guard() {
  guard();
}

void guard_group(pid_t group) {
  guard().tell(group);
}

void release_group(pid_t group) {
  guard().tell(-group);
}

}  // namespace tessera
