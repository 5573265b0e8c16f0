#pragma once
#include <cstdint>

namespace tessera {

// Samples per forward pass of a rank: so many, 0 for the whole batch, or `automatic`, which is written "auto": as many as turn
// out to fit.
struct MicroBatch {
  bool automatic = true;
  int64_t samples = 0;

  MicroBatch() = default;
  MicroBatch(int64_t count) : automatic(false), samples(count) {}  // NOLINT(google-explicit-constructor): a number is one
};

}  // namespace tessera
