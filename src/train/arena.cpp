#include "train/arena.h"

#include <torch/types.h>

#include <algorithm>

namespace tessera {
namespace {

constexpr int64_t kAlignment = 64;  // bytes: a cache line, and what vector loads like

int64_t aligned(int64_t numel, at::ScalarType type) {
  const int64_t step = kAlignment / static_cast<int64_t>(c10::elementSize(type));
  return (numel + step - 1) / step * step;
}

// A view of `flat` at `offset` with the shape of `like`, dense, in channels-last order if asked for.
at::Tensor view_like(const at::Tensor& flat, int64_t offset, const at::Tensor& like, bool channels_last) {
  const at::Tensor piece = flat.narrow(0, offset, like.numel());
  if (!channels_last || like.dim() != 4) return piece.view(like.sizes());
  const int64_t c = like.size(1), h = like.size(2), w = like.size(3);
  return piece.as_strided(like.sizes(), {c * h * w, 1, w * c, c});
}

bool is_norm_or_bias(const std::string& name, const at::Tensor& value) {
  return value.dim() <= 1 || name.ends_with("bias");
}

}  // namespace

Arena::Arena(SegmentationModel& model, at::Device device, at::ScalarType type, bool channels_last) {
  const at::NoGradGuard no_grad;
  model.to(device, type);  // frozen parameters stay outside the arena
  const auto heads = model.head_prefixes(), undecayed = model.no_weight_decay();
  int64_t total = 0;
  for (const auto& item : model.named_parameters()) {
    if (!item.value().requires_grad()) continue;
    parameters_.push_back(item.value());
    const bool head =
        std::any_of(heads.begin(), heads.end(), [&](const std::string& prefix) { return item.key().starts_with(prefix); });
    const bool plain = std::find(undecayed.begin(), undecayed.end(), item.key()) != undecayed.end() ||
                       is_norm_or_bias(item.key(), item.value());
    spans_.push_back(
        {item.key(), total, item.value().numel(), plain, head, model.num_depths() - 1 - model.depth_of(item.key())});
    total += aligned(item.value().numel(), type);
  }
  const auto options = at::TensorOptions(type).device(device);
  params_ = at::zeros({total}, options);
  grads_ = at::zeros({total}, options);
  for (size_t i = 0; i < spans_.size(); ++i) {
    at::Tensor& value = parameters_[i];
    at::Tensor home = view_like(params_, spans_[i].offset, value, channels_last);
    home.copy_(value);
    value.set_data(home);
    value.mutable_grad() = view_like(grads_, spans_[i].offset, value, channels_last);
  }

  int64_t buffer_total = 0;
  const auto named_buffers = model.named_buffers();
  for (const auto& item : named_buffers) buffer_total += aligned(item.value().numel(), type);
  buffers_ = at::zeros({buffer_total}, options);
  int64_t offset = 0;
  for (const auto& item : named_buffers) {
    at::Tensor value = item.value();
    at::Tensor home = view_like(buffers_, offset, value, false);
    home.copy_(value);
    value.set_data(home);
    model_buffers_.push_back(value);
    offset += aligned(value.numel(), type);
  }
}

void Arena::point_to(const at::Tensor& params, const at::Tensor& buffers) {
  const at::NoGradGuard no_grad;
  // Views of one arena and of the other differ in their place alone.
  const auto move = [](at::Tensor& value, const at::Tensor& flat, int64_t offset) {
    value.set_data(flat.as_strided(value.sizes(), value.strides(), flat.storage_offset() + offset));
  };
  for (size_t i = 0; i < spans_.size(); ++i) move(parameters_[i], params, spans_[i].offset);
  int64_t offset = 0;
  for (at::Tensor& value : model_buffers_) {
    move(value, buffers, offset);
    offset += aligned(value.numel(), buffers.scalar_type());
  }
}

std::vector<GradientPlace> Arena::places() const {
  std::vector<GradientPlace> places;
  for (size_t i = 0; i < spans_.size(); ++i) places.push_back({parameters_[i], spans_[i].offset, spans_[i].numel});
  return places;
}

}  // namespace tessera
