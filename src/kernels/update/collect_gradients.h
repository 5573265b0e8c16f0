#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace tessera {

// Writes (or adds) each gradient, its values in the order of memory, to `arena` at its offset; few launches for all of them.
// arena: contiguous, float32 or float64. gradients: dense, float32, float64, bfloat16 or float16.
void collect_gradients(at::Tensor& arena, const std::vector<at::Tensor>& gradients, const std::vector<int64_t>& offsets,
                       bool add);

}  // namespace tessera
