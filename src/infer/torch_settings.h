#pragma once
#include <c10/core/Device.h>

#include "config/train_config.h"

namespace tessera {

// Takes train.threads threads for computing, where it says how many.
void use_threads(const TrainConfig& config);

// How libtorch's own operations should compute where there is a GPU: TF32 or not, the same algorithm every time or the fastest,
// and with few threads of this one's beside it. Nothing on a CPU. fixed_shapes: shapes come back, so that trying out cuDNN's
// algorithms once for each pays.
void set_up_backend(const TrainConfig& config, at::Device device, bool fixed_shapes);

}  // namespace tessera
