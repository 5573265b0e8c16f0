#pragma once

namespace tessera {

// After this call SIGINT and SIGTERM only leave a note: the run finishes its step, saves and ends with 128 + signal.
// Another signal more than two seconds later ends the process at once.
void catch_stop_signals();

// The signal received, or 0.
int stop_signal();

}  // namespace tessera
