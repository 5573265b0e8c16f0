#pragma once

namespace tessera {

// The exit code of a run that was saved and is to be started again (sysexits.h: EX_TEMPFAIL): its time was up.
inline constexpr int kExitAgain = 75;

// The exit code of a run that was ended by a stop signal: 128 + signal, but kExitAgain for SIGUSR1, by which a scheduler says
// that the time is nearly up.
int exit_code_of(int signal);

// After the first call SIGINT, SIGTERM and SIGUSR1 only leave a note, for the rest of the process: a run finishes its step,
// saves and ends with exit_code_of(signal). A closed terminal (SIGHUP, unless it is ignored as under nohup) is taken for
// SIGTERM. Another signal more than two seconds later ends the process at once. Further calls do nothing, and no run takes the
// note back: a signal that comes between two runs stops the second one, and one that stopped a run stops those after it.
void catch_stop_signals();

// The signal received, or 0.
int stop_signal();

// While it lives, a terminal shows `text` when the first signal comes; after it, what was shown before it. One rank of a
// process makes one.
class StopNotice {
 public:
  explicit StopNotice(const char* text);  // lives on; null: shows nothing
  ~StopNotice();
  StopNotice(const StopNotice&) = delete;
  StopNotice& operator=(const StopNotice&) = delete;

 private:
  const char* before_;
};

}  // namespace tessera
