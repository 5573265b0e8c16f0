#include "core/signals.h"

#include <unistd.h>

#include <csignal>

#include "core/clock.h"

namespace tessera {
namespace {

volatile std::sig_atomic_t received = 0;
double first_at_s = 0;
std::string_view shown;  // on the terminal, at the first signal

// A scheduler may signal a launcher and its ranks alike, and the launcher passes its own on: what comes at once is one wish.
void note(int signal) {
  constexpr double kOneWish_s = 2;
  if (received == 0) {
    first_at_s = monotonic_s();
    received = signal == SIGHUP ? SIGTERM : signal;
    // Not through the log, which may hold its lock. A terminal that is gone takes nothing, and that is no matter.
    if (!shown.empty() && ::write(STDERR_FILENO, shown.data(), shown.size()) < 0) return;
  } else if (monotonic_s() - first_at_s > kOneWish_s) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

}  // namespace

void catch_stop_signals(std::string_view notice) {
  received = 0;
  // Only there: the reader of a pipe may have got the same signal and be gone, and writing to it would end the process.
  if (!notice.empty() && ::isatty(STDERR_FILENO) != 0) shown = notice;
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

int stop_signal() {
  return received;
}

}  // namespace tessera
