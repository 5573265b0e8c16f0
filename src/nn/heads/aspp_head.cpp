#include "nn/heads/aspp_head.h"

#include <torch/types.h>

#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"
#include "nn/heads/pooled.h"

namespace tessera {

AsppHead::AsppHead(int64_t in, const Options& options) : align_corners_(options.align_corners) {
  const int64_t channels = options.channels;
  image_pool_ = register_module("image_pool", std::make_shared<PooledBranch>(in, channels, PooledBranch::Options{}));
  branches_ = register_module("aspp_modules", std::make_shared<LayerList>());
  branches_->add(std::make_shared<ConvBlock>(in, channels, ConvShape{}));
  for (const int64_t dilation : options.dilations) {
    branches_->add(conv3x3_block(in, channels, dilation, options.separable != Separable::kNone));
  }
  const int64_t joined = (static_cast<int64_t>(options.dilations.size()) + 2) * channels;
  bottleneck_ = register_module("bottleneck", conv3x3_block(joined, channels, 1, options.separable == Separable::kAll));
  add_classifier(channels, options.classes, options.dropout);
}

at::Tensor AsppHead::pyramid(const at::Tensor& x) {
  std::vector<at::Tensor> parts = {image_pool_->forward(x)};
  for (size_t i = 0; i < branches_->size(); ++i) parts.push_back((*branches_)[i].forward(x));
  return bottleneck_->forward(concat_resized(parts, x, align_corners_));
}

at::Tensor AsppHead::forward(const Features& features) {
  return classify(pyramid(features.stages.back()));
}

AsppPlusHead::AsppPlusHead(int64_t in, int64_t low_level_in, int64_t low_level_channels, const Options& options)
    : AsppHead(in, options) {
  const int64_t channels = options.channels;
  const bool separable = options.separable != Separable::kNone;
  low_level_ = register_module("c1_bottleneck", std::make_shared<ConvBlock>(low_level_in, low_level_channels, ConvShape{}));
  decoder_ = register_module("sep_bottleneck", std::make_shared<LayerList>(std::vector<LayerPtr>{
                                                   conv3x3_block(channels + low_level_channels, channels, 1, separable),
                                                   conv3x3_block(channels, channels, 1, separable)}));
}

at::Tensor AsppPlusHead::forward(const Features& features) {
  const at::Tensor fine = low_level_->forward(features.stages.front());
  const at::Tensor coarse = pyramid(features.stages.back());
  return classify(decoder_->forward(concat_resized({coarse, fine}, fine, align_corners())));
}

}  // namespace tessera
