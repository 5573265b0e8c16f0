#pragma once
#include <array>
#include <cstdint>

#include "core/philox.h"

namespace tessera {

// What a random number is for. Part of the key, so that streams never share numbers.
enum class Stream : uint32_t { kOrder = 1, kAugment, kReplace, kInit, kDropout, kSynthetic, kSplit, kSelect, kMix, kStudy };

// A sequence of random numbers named by (seed, stream, a, b): e.g. (seed, kAugment, epoch, sample). Cheap to make, cheap to
// copy, no shared state. `fork(n)` names a sub-sequence that is independent of how much of this one was drawn.
class Rng {
 public:
  Rng(uint64_t seed, Stream stream, uint64_t a = 0, uint64_t b = 0);

  Rng fork(uint32_t index) const;

  uint32_t bits();
  double uniform();                         // [0, 1)
  double uniform(double low, double high);  // [low, high)
  uint32_t below(uint32_t bound);           // [0, bound), unbiased; bound > 0
  double normal();                          // mean 0, variance 1
  double beta(double a, double b);          // of the Beta distribution, in [0, 1]; a, b > 0
  bool chance(double probability) { return uniform() < probability; }

 private:
  uint64_t key_;
  std::array<uint32_t, 4> counter_;
  PhiloxBlock block_{};
  unsigned used_ = 4;
};

}  // namespace tessera
