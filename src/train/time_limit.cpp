#include "train/time_limit.h"

#include <algorithm>

#include "core/clock.h"

namespace tessera {
namespace {

// What is saved in the background is written to the end before the process leaves, and a disk may be slower than before.
constexpr double kSaveReserve = 2;
constexpr double kLeastReserve_s = 1;

}  // namespace

bool TimeLimit::reaches_end(double seconds) const {
  return ends_at_s_ && monotonic_s() + seconds + kLeastReserve_s + kSaveReserve * longest_save_s_ >= *ends_at_s_;
}

bool TimeLimit::leaves_no_turn() {
  const double now = monotonic_s();
  if (asked_s_) longest_turn_s_ = std::max(longest_turn_s_, now - *asked_s_);
  asked_s_ = now;
  return reaches_end(longest_turn_s_);
}

bool TimeLimit::leaves_no_time() const {
  return reaches_end(0);
}

TimeLimit::Save::Save(TimeLimit& limit) : limit_(limit), begin_s_(monotonic_s()) {}

TimeLimit::Save::~Save() {
  limit_.longest_save_s_ = std::max(limit_.longest_save_s_, monotonic_s() - begin_s_);
}

}  // namespace tessera
