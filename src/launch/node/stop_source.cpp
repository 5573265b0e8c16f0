#include "launch/node/stop_source.h"

#include <fcntl.h>
#include <sys/signalfd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <sstream>

namespace tessera {
namespace {

bool is_ignored(int number) {
  struct sigaction action {};
  return sigaction(number, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

StopSource::StopSource(Poller& poller, bool reads_stdin) : poller_(poller) {
  std::signal(SIGPIPE, SIG_IGN);  // a reader of our output that went away must not end the ranks
  sigset_t caught;
  sigemptyset(&caught);
  for (const int number : {SIGINT, SIGTERM, SIGUSR1, SIGCHLD}) sigaddset(&caught, number);
  if (!is_ignored(SIGHUP)) sigaddset(&caught, SIGHUP);  // under nohup the run outlives the terminal
  sigprocmask(SIG_BLOCK, &caught, nullptr);
  signal_file_ = FileHandle(signalfd(-1, &caught, SFD_CLOEXEC | SFD_NONBLOCK));
  poller_.watch(signal_file_.fd(), [this] { read_signals(); });
  if (!reads_stdin) return;
  fcntl(STDIN_FILENO, F_SETFL, O_NONBLOCK);
  poller_.watch(STDIN_FILENO, [this] { read_stdin(); });
}

StopSource::~StopSource() {
  poller_.forget(signal_file_.fd());
  poller_.forget(STDIN_FILENO);
}

void StopSource::read_signals() {
  signalfd_siginfo info{};
  while (read(signal_file_.fd(), &info, sizeof(info)) == sizeof(info)) {
    const int number = static_cast<int>(info.ssi_signo);
    if (number != SIGCHLD) signals_.push_back(number == SIGHUP ? SIGTERM : number);  // SIGCHLD only wakes the loop
  }
}

void StopSource::read_stdin() {
  std::array<char, 4096> buffer;
  ssize_t got = 0;
  while ((got = read(STDIN_FILENO, buffer.data(), buffer.size())) > 0) pending_.append(buffer.data(), static_cast<size_t>(got));
  if (got == 0 || errno != EAGAIN) {
    starter_gone_ = true;
    poller_.forget(STDIN_FILENO);
  }
  for (size_t end = 0; (end = pending_.find('\n')) != std::string::npos; pending_.erase(0, end + 1)) {
    std::istringstream words(pending_.substr(0, end));
    std::string what;
    int number = 0;
    if (!(words >> what >> number)) continue;
    if (what == "signal" && (number == SIGINT || number == SIGTERM || number == SIGUSR1)) signals_.push_back(number);
    if (what == "lost") lost_nodes_.push_back(number);
  }
}

}  // namespace tessera
