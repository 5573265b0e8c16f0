#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"
#include "dist/world.h"

namespace tessera {

// The shares of a global batch that dist.rank_weights asks for, one per rank; "auto" measures. A collective then.
std::vector<double> rank_weights(const DistConfig& config, World& world, at::Device device);

}  // namespace tessera
