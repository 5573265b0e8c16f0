#pragma once
#include <cstdint>

namespace tessera {

// Where a run stands: schedules, averages and logs are functions of it.
struct Progress {
  int64_t step = 0;   // steps that are done
  int64_t total = 0;  // steps of the whole run
  int64_t steps_per_epoch = 1;

  double epoch() const { return static_cast<double>(step) / static_cast<double>(steps_per_epoch); }
};

}  // namespace tessera
