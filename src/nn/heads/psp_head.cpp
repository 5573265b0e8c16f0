#include "nn/heads/psp_head.h"

#include <torch/types.h>

#include "nn/blocks/conv.h"

namespace tessera {

PspHead::PspHead(int64_t in, int64_t classes, const PspNetConfig& config) {
  pyramid_ =
      register_module("psp_modules", std::make_shared<PyramidPooling>(in, config.channels, config.bins, config.align_corners));
  const int64_t joined = in + static_cast<int64_t>(config.bins.size()) * config.channels;
  bottleneck_ = register_module("bottleneck", conv3x3_block(joined, config.channels, 1, /*separable=*/false));
  add_classifier(config.channels, classes, config.dropout);
}

at::Tensor PspHead::forward(const Features& features) {
  return classify(bottleneck_->forward(pyramid_->forward(features.stages.back())));
}

}  // namespace tessera
