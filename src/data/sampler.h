#pragma once
#include <cstdint>
#include <vector>

#include "core/rng.h"

namespace tessera {

// The order of samples: a function of (seed, epoch), the same for any number of threads, ranks and restarts. The last batch
// of an epoch is filled up from the start of that epoch's own order, so that every batch is whole.
class Sampler {
 public:
  Sampler(int64_t size, int64_t batch_size, uint64_t seed);

  int64_t batches_per_epoch() const { return batches_per_epoch_; }

  // Sample indices of batch `step` of the run, counted over all epochs from 0. Not thread-safe: remembers the last epoch.
  std::vector<int64_t> batch(int64_t step);

 private:
  const std::vector<int64_t>& order(int64_t epoch);

  int64_t size_, batch_size_, batches_per_epoch_;
  uint64_t seed_;
  int64_t cached_epoch_ = -1;
  std::vector<int64_t> cached_;
};

// `count` distinct numbers of 0 .. size - 1, drawn by `rng`, in rising order; all of them when there are no more.
std::vector<int64_t> draw_distinct(int64_t size, int64_t count, Rng rng);

}  // namespace tessera
