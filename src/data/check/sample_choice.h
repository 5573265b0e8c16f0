#pragma once
#include <cstdint>
#include <vector>

#include "data/dataset.h"

namespace tessera {

// How many samples tell enough of a data set, where it is not read whole.
inline constexpr int64_t kSamplesLookedAt = 64;

// Up to `count` samples of a data set. Which ones follows from their names and the seed, each name by itself, so neither the
// order of files nor the number of ranks or threads has a part in it. In the order in which they were drawn.
std::vector<int64_t> choose_samples(const Dataset& dataset, int64_t count, uint64_t seed);

}  // namespace tessera
