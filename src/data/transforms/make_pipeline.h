#pragma once
#include <cstdint>
#include <vector>

#include "config/transform_config.h"
#include "data/transform.h"

namespace tessera {

// The transforms a config lists, in its order. Images are padded and rotated in with 0, labels with kIgnoreLabel.
Pipeline make_pipeline(const std::vector<TransformConfig>& configs);

// Applies the pipeline to sample `index`. What happens is a function of (seed, epoch, index): transform k draws from its own
// sequence, so neither threads nor ranks nor the other transforms change what it does.
void run_pipeline(const Pipeline& pipeline, Sample& sample, uint64_t seed, uint64_t epoch, uint64_t index);

}  // namespace tessera
