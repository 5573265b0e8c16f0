#pragma once
#include <sys/types.h>

#include <cstdint>

namespace tessera {

// What the kernel says of a process and of those below it; a rank may be a script around the program.
struct ProcSample {
  char state = 'X';             // T if any of them is stopped, else that of the one furthest down
  double cpu_s = 0;             // processor time used so far
  int64_t io_bytes = 0;         // read and written so far
  int64_t pages_read = 0;       // by touching memory: a program that is being loaded
  uint64_t caught_signals = 0;  // bit n - 1: one of them has a handler for signal n

  bool catches(int signal) const { return (caught_signals >> (signal - 1) & 1) != 0; }
};

ProcSample sample_process(pid_t pid);

}  // namespace tessera
