#include "train/pass_size.h"

namespace tessera {

bool PassSize::shrink(int64_t largest) {
  const int64_t units = (largest + unit_ - 1) / unit_;
  steps_ = 0;
  if (units <= 1) return false;
  too_many_ = units;
  if (fits_ >= units) fits_ = 0;  // it did once; others have taken memory since
  samples_ = (fits_ > 0 ? fits_ : (units + 1) / 2) * unit_;
  if (samples_ >= units * unit_) samples_ = (units - 1) * unit_;
  return true;
}

void PassSize::fitted() {
  constexpr int64_t kStepsOfSearch = 10, kStepsOfRest = 1000;
  if (!automatic_ || too_many_ == 0) return;  // nothing was ever too much
  ++steps_;
  fits_ = samples_ / unit_;
  const bool searching = fits_ + 1 < too_many_;
  if (steps_ < (searching ? kStepsOfSearch : kStepsOfRest)) return;
  steps_ = 0;
  const int64_t next = searching ? (fits_ + too_many_) / 2 : too_many_;
  if (!searching) ++too_many_;  // unless it fits now
  samples_ = next * unit_;
}

}  // namespace tessera
