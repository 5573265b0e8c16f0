#pragma once
#include <array>
#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "data/dataset.h"

namespace tessera {

// A sample's place in an epoch. The sample draws its random numbers by `draw`: its index where it comes for the first time,
// another number each time it comes again, so that no two places of an epoch are augmented alike.
struct Pick {
  int64_t index = 0;  // of the sample
  int64_t draw = 0;   // index + size of the data set * how often the sample came before in the epoch
  bool operator==(const Pick&) const = default;
};

// The order of samples: a function of (seed, epoch), the same for any number of threads, ranks and restarts. The last batch
// of an epoch is filled up from the start of that epoch's own order, so that every batch is whole.
//
// With `chances` (Note [Rare classes first]) a sample takes size * chance of the places of an epoch, rounded up or down at
// random: systematic sampling, whose counts vary less than those of independent draws and whose mean is the same.
class Sampler {
 public:
  // `shards`: where the samples lie in shards, Note [Order of shards]. `chances`: of each sample, adding up to 1; empty: each
  // sample comes once in an epoch.
  Sampler(int64_t size, int64_t batch_size, uint64_t seed, ShardReading shards = {}, std::vector<double> chances = {});

  int64_t batches_per_epoch() const { return batches_per_epoch_; }

  // The samples of batch `step` of the run, counted over all epochs from 0. Not thread-safe: remembers the last epochs.
  std::vector<Pick> batch(int64_t step);

  // How many batches to look ahead for samples that may have to be fetched; 0 where all are at hand.
  int64_t batches_ahead() const;

 private:
  struct EpochOrder {
    int64_t epoch = -1;
    std::vector<Pick> places;
    std::vector<int64_t> times;  // how often each sample comes; empty: once
  };
  const EpochOrder& order(int64_t epoch);
  EpochOrder make_order(int64_t epoch) const;
  std::vector<int64_t> draw_times(int64_t epoch) const;

  int64_t size_, batch_size_, batches_per_epoch_;
  uint64_t seed_;
  ShardReading shards_;
  std::vector<double> chances_;
  std::array<EpochOrder, 2> cached_;  // this one and, where one looks ahead, the next
};

// `count` distinct numbers of 0 .. size - 1, drawn by `rng`, in rising order; all of them when there are no more.
std::vector<int64_t> draw_distinct(int64_t size, int64_t count, Rng rng);

}  // namespace tessera
