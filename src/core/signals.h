#pragma once
#include <string_view>

namespace tessera {

// After this call SIGINT and SIGTERM only leave a note: the run finishes its step, saves and ends with 128 + signal. A closed
// terminal (SIGHUP, unless it is ignored as under nohup) is taken for SIGTERM. Another signal more than two seconds later ends
// the process at once. notice: what a terminal shows when the first signal comes; must live on; empty: nothing.
void catch_stop_signals(std::string_view notice = {});

// The signal received, or 0.
int stop_signal();

}  // namespace tessera
