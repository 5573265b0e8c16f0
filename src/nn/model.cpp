#include "nn/model.h"

#include <torch/types.h>

#include <algorithm>

#include "core/error.h"
#include "core/is_part.h"
#include "core/suggest.h"
#include "kernels/common/fused.h"
#include "nn/init/init_layers.h"

namespace tessera {

void SegmentationModel::init(uint64_t seed) {
  init_layers(*this, LayerInit::kTorch, seed);
}

void SegmentationModel::freeze(const std::vector<std::string>& parts) {
  if (parts.empty()) return;
  for (const std::string& part : parts) {
    bool found = false;
    for (auto& item : named_parameters()) {
      if (!is_part(item.key(), part)) continue;
      item.value().requires_grad_(false);
      found = true;
    }
    std::vector<std::string> paths;
    for (const auto& item : named_modules("", /*include_self=*/false)) {
      paths.push_back(item.key());
      if (item.key() == part) frozen_.push_back(item.value());
    }
    if (!found)
      fail_usage("model.freeze: the model has no part '{}' with weights{}; `tessera models show` prints its parts", part,
                 did_you_mean(part, paths));
  }
  const auto all = parameters();
  if (std::none_of(all.begin(), all.end(), [](const at::Tensor& value) { return value.requires_grad(); }))
    fail_usage("model.freeze leaves nothing to train; freeze fewer parts");
  train(is_training());
}

void SegmentationModel::train(bool on) {
  torch::nn::Module::train(on);
  for (const auto& part : frozen_) part->eval();
}

bool SegmentationModel::leaves_to_loss(const PixelClassifier& classifier) const {
  const at::Tensor& x = classifier.features;
  return classify_in_loss_ && is_training() && at::GradMode::is_enabled() && x.is_cuda() && use_fused(x) && classifier.fits();
}

int64_t count_parameters(const torch::nn::Module& model) {
  int64_t total = 0;
  for (const at::Tensor& value : model.parameters()) total += value.numel();
  return total;
}

void use_channels_last(SegmentationModel& model) {
  const at::NoGradGuard no_grad;
  for (at::Tensor& value : model.parameters()) {
    if (value.dim() == 4) value.set_data(value.contiguous(at::MemoryFormat::ChannelsLast));
  }
}

}  // namespace tessera
