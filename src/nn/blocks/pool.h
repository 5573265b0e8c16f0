#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/features/max_pool.h"

namespace tessera {

// Averages over grids of b x b bins, for each b: torch's adaptive_avg_pool2d.
std::vector<at::Tensor> average_pools(const at::Tensor& x, at::IntArrayRef bins);

// Maxima of windows: torch's max_pool2d.
at::Tensor maxima(const at::Tensor& x, const PoolWindow& window);

// The maxima and x again, for those who use x beside them: see max_pool_and_keep.
std::pair<at::Tensor, at::Tensor> maxima_and_features(const at::Tensor& x, const PoolWindow& window);

}  // namespace tessera
