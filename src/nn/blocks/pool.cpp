#include "nn/blocks/pool.h"

#include <torch/types.h>

#include "kernels/common/fused.h"
#include "kernels/features/adaptive_pools.h"

namespace tessera {

std::vector<at::Tensor> average_pools(const at::Tensor& x, at::IntArrayRef bins) {
  if (use_fused(x)) return adaptive_pools(x, bins);
  std::vector<at::Tensor> each;
  for (const int64_t b : bins) each.push_back(at::adaptive_avg_pool2d(x, {b, b}));
  return each;
}

at::Tensor maxima(const at::Tensor& x, const PoolWindow& window) {
  // On a CPU memory is not what runs short, and libtorch is faster.
  if (use_fused(x) && !x.is_cpu()) return max_pool(x, window);
  return at::max_pool2d(x, window.kernel, window.stride, window.padding, /*dilation=*/1, window.ceil_mode);
}

std::pair<at::Tensor, at::Tensor> maxima_and_features(const at::Tensor& x, const PoolWindow& window) {
  if (use_fused(x) && !x.is_cpu()) return max_pool_and_keep(x, window);
  return {maxima(x, window), x};
}

}  // namespace tessera
