#include "train/progressive_resizing.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/rng.h"

namespace tessera {
namespace {

// A batch has no position in itself, as samples have that are mixed.
constexpr uint64_t kWholeBatch = ~uint64_t{0};

double scale_at(const ProgressiveResizingConfig& config, const Progress& at) {
  const double elapsed = static_cast<double>(at.step) / static_cast<double>(at.total);
  if (elapsed < config.delay_fraction) return config.initial_scale;
  const double growing = 1 - config.finetune_fraction - config.delay_fraction;
  const double grown = growing > 0 ? std::min((elapsed - config.delay_fraction) / growing, 1.0) : 1.0;
  return config.initial_scale + (1 - config.initial_scale) * grown;
}

// The multiple of `step` that is nearest; of two, the even one, as Python rounds.
int64_t scaled(int64_t size, double scale, int64_t step, int64_t least) {
  const auto steps = static_cast<int64_t>(std::nearbyint(static_cast<double>(size) * scale / static_cast<double>(step)));
  return std::min(size, std::max({steps * step, least, int64_t{1}}));
}

at::Tensor resized(const at::Tensor& images, at::ScalarType type, int64_t height, int64_t width) {
  return at::_upsample_bilinear2d_aa(images.permute({0, 3, 1, 2}).to(type), {height, width}, /*align_corners=*/false)
      .permute({0, 2, 3, 1});
}

// (N, H, W, C). Bytes stay bytes: what reads them next takes nothing else. They are computed in float64, and a value half way
// between two of them goes up although rounding may have put it a little below: so every device makes the same bytes.
at::Tensor resized_images(const at::Tensor& images, int64_t height, int64_t width) {
  constexpr int64_t kAtOnce = 8;  // images, for the sake of memory
  constexpr double kHalf = 0.5 + 1e-6;
  if (images.scalar_type() != at::kByte)
    return resized(images, at::kFloat, height, width).to(images.scalar_type()).contiguous();
  at::Tensor smaller = at::empty({images.size(0), height, width, images.size(3)}, images.options());
  for (int64_t begin = 0; begin < images.size(0); begin += kAtOnce) {
    const int64_t count = std::min(kAtOnce, images.size(0) - begin);
    const at::Tensor values = resized(images.narrow(0, begin, count), at::kDouble, height, width);
    smaller.narrow(0, begin, count).copy_((values + kHalf).floor_().clamp_(0, 255));
  }
  return smaller;
}

// The pixel whose centre is nearest, on one side.
at::Tensor nearest_places(int64_t from, int64_t to, at::Device device) {
  const at::Tensor centres = at::arange(to, at::TensorOptions(device).dtype(at::kDouble)).add_(0.5);
  return centres.mul_(static_cast<double>(from) / static_cast<double>(to)).floor_().to(at::kLong).clamp_max_(from - 1);
}

}  // namespace

Shrink shrink_at(const ProgressiveResizingConfig& config, const Progress& at, uint64_t seed, int64_t height, int64_t width,
                 int64_t min_size) {
  Shrink shrink{.mode = config.mode, .height = height, .width = width};
  const double scale = scale_at(config, at);
  if (scale >= 1) return shrink;
  shrink.height = scaled(height, scale, config.size_increment, min_size);
  shrink.width = scaled(width, scale, config.size_increment, min_size);
  Rng rng(seed, Stream::kMix, static_cast<uint64_t>(at.step), kWholeBatch);
  shrink.top = rng.below(static_cast<uint32_t>(height - shrink.height + 1));
  shrink.left = rng.below(static_cast<uint32_t>(width - shrink.width + 1));
  return shrink;
}

Batch shrunk(const Batch& batch, const Shrink& shrink, at::Device device) {
  const int64_t height = batch.images.size(1), width = batch.images.size(2);
  if (shrink.height == height && shrink.width == width) return batch;
  Batch smaller = batch;
  smaller.images = batch.images.to(device, /*non_blocking=*/true);
  smaller.labels = batch.labels.to(device, /*non_blocking=*/true);
  if (shrink.mode == ShrinkMode::kCrop) {
    for (at::Tensor* pixels : {&smaller.images, &smaller.labels})
      *pixels = pixels->narrow(1, shrink.top, shrink.height).narrow(2, shrink.left, shrink.width).contiguous();
    return smaller;
  }
  smaller.images = resized_images(smaller.images, shrink.height, shrink.width);
  smaller.labels = smaller.labels.index_select(1, nearest_places(height, shrink.height, device))
                       .index_select(2, nearest_places(width, shrink.width, device));
  return smaller;
}

}  // namespace tessera
