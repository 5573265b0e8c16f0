#pragma once
#include <chrono>
#include <cstdint>
#include <ctime>

namespace tessera {

// CLOCK_MONOTONIC never goes back, and all processes of a host share its zero; other hosts have another. May be called in a
// signal handler.
inline int64_t monotonic_ns() {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

// The same clock in seconds: for durations.
inline double monotonic_s() {
  return static_cast<double>(monotonic_ns()) * 1e-9;
}

// Seconds since 1970 by the wall clock, which can be set: for dates, and for what hosts compare.
inline double unix_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace tessera
