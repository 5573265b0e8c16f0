#include "data/batch/normalize.h"

#include <torch/types.h>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/pixels/normalize_pixels.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

// With tensor operations, for devices without that kernel.
at::Tensor per_channel(const std::vector<double>& values, const at::Tensor& like) {
  return upload(torch::tensor(values, like.scalar_type()), like.device());
}

}  // namespace

at::Tensor normalize_images(const at::Tensor& images, float max_value, const NormalizeConfig& config, at::ScalarType type,
                            ImageStatistics statistics) {
  TSR_CHECK(
      config.mode != NormalizeMode::kRange || max_value == 1,
      "images of data.normalize.mode=range must come through make_pipeline, which scales them; these have the range 0..{}",
      max_value);
  const at::ScalarType compute = type == at::kDouble ? at::kDouble : at::kFloat;
  const bool fused = use_fused(images) && can_normalize_pixels(images);
  if (fused && acts_per_pixel(config.mode)) return normalize_pixels(images, max_value, config.mean, config.std, type);
  at::Tensor x = images.to(compute);
  if (!statistics.defined()) statistics = image_statistics(images, images.size(3), max_value, config, compute);
  if (config.mode == NormalizeMode::kPerImage) {
    x = (x - statistics.shift) / statistics.range;
  } else {
    if (config.mode == NormalizeMode::kPercentile) {
      x = ((x - statistics.shift) / statistics.range).clamp_(0, 1);
    } else {
      x = x / max_value;
    }
    x = (x - per_channel(config.mean, x)) / per_channel(config.std, x);
  }
  return x.to(type).permute({0, 3, 1, 2});
}

}  // namespace tessera
