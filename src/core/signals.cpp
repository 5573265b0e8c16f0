#include "core/signals.h"

#include <csignal>

namespace tessera {
namespace {

volatile std::sig_atomic_t received = 0;

void note(int signal) {
  received = signal;
  std::signal(signal, SIG_DFL);
}

}  // namespace

void catch_stop_signals() {
  received = 0;
  std::signal(SIGINT, note);
  std::signal(SIGTERM, note);
}

int stop_signal() {
  return received;
}

}  // namespace tessera
