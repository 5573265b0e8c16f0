#pragma once
#include <cstdint>
#include <vector>

#include "core/rng.h"
#include "data/dataset.h"

namespace tessera {

// Note [Order of shards]
// Samples that lie in shards are read shard by shard, as far as that still mixes them: the shards come in random order, and
// one after the other they are joined into blocks, each of which ends with the shard that brings it to `block` samples; the
// samples of a block come in random order. So few shards are needed at a time. The order is a function of (seed, epoch) and of
// the shards alone: the same for any number of threads and ranks, and after a restart in the middle of an epoch nothing is read
// again. A block that holds all samples mixes them as those of files are mixed.

// All of 0 .. size - 1, in random order.
std::vector<int64_t> shuffled(int64_t size, Rng rng);

// The same for samples in shards.
std::vector<int64_t> shuffled_shards(int64_t size, const ShardReading& shards, Rng rng);

}  // namespace tessera
