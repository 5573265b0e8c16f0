#pragma once
#include <cmath>
#include <limits>

#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// What schedulers know of a study besides their own settings.
struct ScheduleContext {
  Direction direction = Direction::kMaximize;  // of the first objective
  uint64_t seed = 0;
  Space space = {};
  int64_t max_steps = 0;   // at which a training ends, for settings that leave `max` out; 0: not known
  int64_t num_trials = 0;  // that the study will have at most; 0: not known
};

// A value such that more is better, and NaN is worse than anything.
inline double score_of(double value, Direction direction) {
  if (std::isnan(value)) return -std::numeric_limits<double>::infinity();
  return direction == Direction::kMaximize ? value : -value;
}

}  // namespace tessera
