#include "data/batch/input_batch.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/batch/normalize.h"
#include "kernels/common/fused.h"
#include "kernels/pixels/augment_pixels.h"
#include "kernels/pixels/normalize_pixels.h"
#include "tensor/upload.h"

namespace tessera {
namespace {

at::Tensor mix_table(const Batch& batch) {
  const auto height = static_cast<double>(batch.images.size(1)), width = static_cast<double>(batch.images.size(2));
  std::vector<PixelMix> rows;
  for (int64_t i = 0; i < batch.size(); ++i) {
    const auto own = static_cast<double>(i);
    if (batch.mixes.empty()) {
      rows.push_back({.own = own, .partner = own});
    } else if (static_cast<size_t>(i) < batch.mixes.size()) {
      const SampleMix& mix = batch.mixes[static_cast<size_t>(i)];
      rows.push_back({own, static_cast<double>(mix.partner), mix.share, std::round(mix.top * height),
                      std::round(mix.left * width), std::round(mix.bottom * height), std::round(mix.right * width)});
    }
  }
  return table_of(rows);
}

at::Tensor color_table(const Batch& batch) {
  std::vector<PixelColor> rows;
  for (const ColorChange& change : batch.colors) rows.push_back(pixel_color(change, batch.max_value));
  return table_of(rows);
}

}  // namespace

InputBatch::InputBatch(const Batch& batch, at::Device device)
    : count_(batch.mixes.empty() ? batch.images.size(0) : static_cast<int64_t>(batch.mixes.size())),
      images_(batch.images.to(device, /*non_blocking=*/true)),
      labels_(batch.labels.to(device, /*non_blocking=*/true)),
      mixed_(!batch.mixes.empty()),
      max_value_(batch.max_value) {
  if (!mixed_ && batch.colors.empty()) return;
  mixes_ = upload(mix_table(batch), device);
  if (!batch.colors.empty()) colors_ = upload(color_table(batch), device);
  if (mixed_) mix_labels(batch, labels_);
}

// Of device tensors only, so that nothing waits; which ones are needed is known from the batch.
void InputBatch::mix_labels(const Batch& batch, const at::Tensor& all) {
  const auto any = [&](const auto& is) { return std::any_of(batch.mixes.begin(), batch.mixes.end(), is); };
  const at::Tensor own = all.narrow(0, 0, count_);
  const at::Tensor partners = all.index_select(0, mixes_.select(1, 1).to(at::kLong));
  const bool boxes = any([](const SampleMix& mix) { return mix.top < mix.bottom; });
  labels_ = boxes ? at::where(in_boxes(0, count_), partners, own) : own;
  if (batch.blends || any([](const SampleMix& mix) { return mix.share < 1; })) {
    other_labels_ = partners;
    mix_weight_ = mixes_.select(1, 2).contiguous();
  }
}

at::Tensor InputBatch::in_boxes(int64_t begin, int64_t end) const {
  const at::Tensor rows = mixes_.narrow(0, begin, end - begin);
  const auto within = [&](int64_t size, int64_t first, int64_t last) {
    const at::Tensor places = at::arange(size, rows.options());
    return places.ge(rows.narrow(1, first, 1)).logical_and_(places.lt(rows.narrow(1, last, 1)));
  };
  return within(images_.size(1), 3, 5).unsqueeze(2).logical_and(within(images_.size(2), 4, 6).unsqueeze(1));
}

at::Tensor InputBatch::input(int64_t begin, int64_t end, const NormalizeConfig& config, at::ScalarType type) const {
  if (!mixes_.defined()) return normalize_images(images_.narrow(0, begin, end - begin), max_value_, config, type);
  if (acts_per_pixel(config.mode) && use_fused(images_) && can_normalize_pixels(images_)) {
    return augment_pixels(images_, mixes_.narrow(0, begin, end - begin), colors_, max_value_, config.mean, config.std, type);
  }
  return mixed_with_tensor_operations(begin, end, config, type);
}

at::Tensor InputBatch::mixed_with_tensor_operations(int64_t begin, int64_t end, const NormalizeConfig& config,
                                                    at::ScalarType type) const {
  TSR_CHECK(!colors_.defined(), "the colours of this batch were left to a kernel that cannot take its images");
  const at::Tensor rows = mixes_.narrow(0, begin, end - begin);
  const at::ScalarType compute = type == at::kDouble ? at::kDouble : at::kFloat;
  const auto normalized = [&](const at::Tensor& images) { return normalize_images(images, max_value_, config, compute); };
  const at::Tensor own = normalized(images_.narrow(0, begin, end - begin));
  const at::Tensor partners = normalized(images_.index_select(0, rows.select(1, 1).to(at::kLong)));
  const at::Tensor weight = rows.select(1, 2).to(compute).view({-1, 1, 1, 1});
  const at::Tensor blended = own * weight + partners * (1 - weight);
  return at::where(in_boxes(begin, end).unsqueeze(1), partners, blended).to(type);
}

bool changes_colors(at::Device device, const NormalizeConfig& config, int64_t channels) {
  const at::Tensor none = at::empty({0, 1, 1, channels}, at::TensorOptions(device).dtype(at::kByte));
  return acts_per_pixel(config.mode) && use_fused(none) && can_normalize_pixels(none);
}

}  // namespace tessera
