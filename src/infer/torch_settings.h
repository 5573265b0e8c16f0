#pragma once
#include <c10/core/Device.h>

#include "config/train_config.h"

namespace tessera {

// Lets libtorch compute with as many threads as train.threads says; 0: leaves it to libtorch.
void use_threads(const TrainConfig& config);

// Sets how libtorch's own operations compute on a GPU: TF32 or not, the same algorithm every time or the fastest, and at most 4
// CPU threads for the calling thread unless train.threads says otherwise. Does nothing on a CPU. fixed_shapes: shapes come
// back, so that trying out cuDNN's algorithms once for each pays.
void set_up_backend(const TrainConfig& config, at::Device device, bool fixed_shapes);

}  // namespace tessera
