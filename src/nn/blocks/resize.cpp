#include "nn/blocks/resize.h"

#include <torch/types.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/common/fused.h"

namespace tessera {

at::Tensor resize_to(const at::Tensor& x, const at::Tensor& like, bool align_corners) {
  return resize(x, like.sizes().slice(2), align_corners);
}

at::Tensor concat_resized(const std::vector<at::Tensor>& xs, const at::Tensor& like, bool align_corners) {
  const at::IntArrayRef size = like.sizes().slice(2);
  const bool one_size = std::all_of(xs.begin(), xs.end(), [&](const at::Tensor& x) { return x.sizes().slice(2) == size; });
  // libtorch copies well on a CPU.
  if (use_fused(like) && !(one_size && like.is_cpu())) return resize_concat(xs, size, align_corners);
  std::vector<at::Tensor> parts;
  for (const at::Tensor& x : xs) parts.push_back(resize(x, size, align_corners));
  return at::cat(parts, 1);
}

at::Tensor concat(const std::vector<at::Tensor>& xs) {
  for (const at::Tensor& x : xs) {
    TSR_CHECK(x.sizes().slice(2) == xs[0].sizes().slice(2),
              "expected features of one size to concatenate, got {} x {} and {} x {}", xs[0].size(2), xs[0].size(3), x.size(2),
              x.size(3));
  }
  return concat_resized(xs, xs[0], /*align_corners=*/false);
}

}  // namespace tessera
