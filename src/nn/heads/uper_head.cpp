#include "nn/heads/uper_head.h"

#include <torch/types.h>

#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"

namespace tessera {

UperHead::UperHead(const std::vector<int64_t>& stage_channels, int64_t classes, const UperNetConfig& config)
    : align_corners_(config.align_corners) {
  const int64_t channels = config.channels, top = stage_channels.back();
  pyramid_ = register_module("psp_modules", std::make_shared<PyramidPooling>(top, channels, config.bins, config.align_corners));
  const int64_t joined = top + static_cast<int64_t>(config.bins.size()) * channels;
  bottleneck_ = register_module("bottleneck", conv3x3_block(joined, channels, 1, /*separable=*/false));
  laterals_ = register_module("lateral_convs", std::make_shared<LayerList>());
  smooth_ = register_module("fpn_convs", std::make_shared<LayerList>());
  for (size_t i = 0; i + 1 < stage_channels.size(); ++i) {
    laterals_->add(std::make_shared<ConvBlock>(stage_channels[i], channels, ConvShape{}));
    smooth_->add(conv3x3_block(channels, channels, 1, /*separable=*/false));
  }
  const int64_t levels = static_cast<int64_t>(stage_channels.size());
  fusion_ = register_module("fpn_bottleneck", conv3x3_block(levels * channels, channels, 1, /*separable=*/false));
  add_classifier(channels, classes, config.dropout);
}

at::Tensor UperHead::forward(const Features& features) {
  const size_t top = laterals_->size();
  std::vector<at::Tensor> levels;
  for (size_t i = 0; i < top; ++i) levels.push_back((*laterals_)[i].forward(features.stages[i]));
  levels.push_back(bottleneck_->forward(pyramid_->forward(features.stages[top])));
  for (size_t i = top; i-- > 0;) levels[i] = levels[i] + resize_to(levels[i + 1], levels[i], align_corners_);
  for (size_t i = 0; i < top; ++i) levels[i] = (*smooth_)[i].forward(levels[i]);
  return classify(fusion_->forward(concat_resized(levels, levels[0], align_corners_)));
}

}  // namespace tessera
