#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>

#include <functional>
#include <vector>

namespace tessera {

using Stage = std::function<at::Tensor(const std::vector<at::Tensor>&)>;

// Runs `stage` on `inputs`, keeping only the inputs; the backward pass runs it again for its gradients. The second run sees
// the same samples, step and precision as the first, so its dropout is the same, and it leaves the buffers of `module` (batch
// norm statistics) as it found them. `module` owns every parameter and buffer that `stage` uses. Without gradients it is a
// plain call.
at::Tensor checkpointed(const torch::nn::Module& module, const std::vector<at::Tensor>& inputs, Stage stage);

}  // namespace tessera
