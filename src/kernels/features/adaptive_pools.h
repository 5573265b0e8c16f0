#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

namespace tessera {

// Averages of features (N, C, H, W) over several grids at once, as torch's adaptive_avg_pool2d to (b, b) for each b of `bins`:
// x is read once, and its gradient written once, in a fixed order of sums. Results are channels_last where x is.
std::vector<at::Tensor> adaptive_pools(const at::Tensor& x, at::IntArrayRef bins);

}  // namespace tessera
