#pragma once
#include "config/schema.h"

namespace tessera {

enum class NonFinitePolicy { kSkip, kRollback, kStop };
template <>
struct EnumNames<NonFinitePolicy> {
  static constexpr std::array<std::string_view, 3> names = {"skip", "rollback", "stop"};
};

// What happens where the numbers of a step go wrong.
struct GuardConfig {
  NonFinitePolicy nonfinite = NonFinitePolicy::kSkip;
  int64_t max_skips = 5;
  int64_t keep = 100;
  double spike = 10;
};
template <class V>
void describe(V& v, GuardConfig& c) {
  v.field("nonfinite", c.nonfinite,
          "a loss or gradient that is NaN or infinite: skip: leave the batch out, everything else stays as before the step; "
          "rollback: go back to the last kept state and repeat up to this step in fp32, and leave the batch out if that does "
          "not help; stop: end the run");
  v.field("max_skips", c.max_skips, "end the run when more than this many of 100 steps were left out or gone back from",
          at_least(0));
  v.field("keep", c.keep, "rollback: keep a copy of the state, in the host's memory, every this many steps", at_least(1));
  v.field("spike", c.spike,
          "note a loss above the median of those of the 100 steps before by more than this many times their spread (median "
          "absolute deviation); 0: never",
          at_least(0));
}

}  // namespace tessera
