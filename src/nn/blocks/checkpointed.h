#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

namespace tessera {

using Tensors = std::vector<at::Tensor>;
using TensorsFunction = std::function<Tensors(const Tensors&)>;

// Runs `compute` on `inputs`, keeping only the inputs; the backward pass runs it again for its gradients. The second run sees
// the same samples, step and precision as the first, so its dropout is the same, and it leaves `buffers` (batch norm
// statistics) as it found them. `parameters` and `buffers` are all that `compute` uses besides its inputs. An input among the
// outputs is returned as it is. Without gradients this is a plain call.
Tensors checkpointed(const Tensors& parameters, const Tensors& buffers, const Tensors& inputs, TensorsFunction compute);

}  // namespace tessera
