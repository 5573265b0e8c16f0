#pragma once
#include <vector>

#include "config/data_config.h"
#include "data/check/label_counts.h"
#include "dist/world.h"

namespace tessera {

// The chances of the training samples with data.sampler=balanced (Note [Rare classes first]), else empty. A collective: the
// first rank has the labels counted, and all take its numbers. Throws UsageError, on all ranks, where no sample shows any
// class.
std::vector<double> chances_of_run(const DataConfig& config, const Dataset& train, LabelCounts& labels, World& world);

}  // namespace tessera
