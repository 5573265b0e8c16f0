#include "core/signals.h"

#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <mutex>

#include "core/clock.h"

namespace tessera {
namespace {

volatile std::sig_atomic_t received = 0;
double first_at_s = 0;
std::atomic<const char*> shown{nullptr};  // on the terminal, at the first signal
static_assert(std::atomic<const char*>::is_always_lock_free, "a signal handler reads it");

// A scheduler may signal a launcher and its ranks alike, and the launcher passes its own on: what comes at once is one wish.
void note(int signal) {
  constexpr double kOneWish_s = 2;
  if (received == 0) {
    first_at_s = monotonic_s();
    received = signal == SIGHUP ? SIGTERM : signal;
    // Not through the log, which may hold its lock. A terminal that is gone takes nothing, and that is no matter.
    const char* text = shown;
    if (text != nullptr && ::write(STDERR_FILENO, text, std::strlen(text)) < 0) return;
  } else if (monotonic_s() - first_at_s > kOneWish_s) {
    std::signal(signal, SIG_DFL);
    std::raise(signal);
  }
}

void install() {
  struct sigaction action {};
  action.sa_handler = note;
  action.sa_flags = SA_RESTART;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGUSR1, &action, nullptr);
  struct sigaction before {};
  if (sigaction(SIGHUP, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(SIGHUP, &action, nullptr);
}

}  // namespace

void catch_stop_signals() {
  static std::once_flag installed;
  std::call_once(installed, install);
}

int exit_code_of(int signal) {
  return signal == SIGUSR1 ? kExitAgain : 128 + signal;
}

int stop_signal() {
  return received;
}

// Only on a terminal: the reader of a pipe may have got the same signal and be gone, and writing to it would end the process.
StopNotice::StopNotice(const char* text) : before_(shown) {
  if (text != nullptr && ::isatty(STDERR_FILENO) != 0) shown = text;
}

StopNotice::~StopNotice() {
  shown = before_;
}

}  // namespace tessera
