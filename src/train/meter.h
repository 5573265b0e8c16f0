#pragma once
#include <c10/core/Device.h>

#include <chrono>
#include <cstdint>

#include "train/hooks/run_events.h"

namespace tessera {

// Speed and memory between two log lines, and the time spent training in all.
class StepMeter {
 public:
  StepMeter(double seconds_before, c10::Device device);

  void add(int64_t images, double seconds_waited);
  double seconds() const;
  void fill(LogLine& line);  // and starts a new interval
  void skip();               // what happened since the last `add` or `fill` was not training

 private:
  using Clock = std::chrono::steady_clock;
  c10::Device device_;
  double seconds_before_;
  Clock::duration trained_{};
  Clock::time_point last_;
  Clock::duration interval_{};
  int64_t images_ = 0;
  double waited_ = 0;
};

// Resident memory of this process, in MB.
double resident_memory_mb();

}  // namespace tessera
