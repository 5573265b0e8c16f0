#include "nn/heads/fcn_head.h"

#include <torch/types.h>

#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"
#include "nn/blocks/resize.h"

namespace tessera {

FcnHead::FcnHead(int64_t in, const Options& options) : stage_(options.stage) {
  convs_ = register_module("convs", std::make_shared<LayerList>());
  for (int64_t i = 0; i < options.convs; ++i) {
    convs_->add(conv3x3_block(i == 0 ? in : options.channels, options.channels, 1, /*separable=*/false));
  }
  if (options.concat_input) {
    join_ = register_module("conv_cat", conv3x3_block(in + options.channels, options.channels, 1, /*separable=*/false));
  }
  add_classifier(options.channels, options.classes, options.dropout);
}

at::Tensor FcnHead::forward(const Features& features) {
  const at::Tensor& x = features.stages[stage_];
  at::Tensor y = convs_->forward(x);
  if (join_) y = join_->forward(concat({x, y}));
  return classify(y);
}

// The numbers are places in torchvision's Sequential.
TorchvisionFcnHead::TorchvisionFcnHead(int64_t in, int64_t classes, size_t stage, double dropout) : stage_(stage) {
  const int64_t channels = in / 4;
  conv_ = register_module("0", plain_conv(in, channels, {.kernel = 3}));
  bn_ = register_module("1", BatchNorm2d(channels));
  dropout_ = register_module("3", ElementDropout(dropout));
  classifier_ = register_module("4", classifier_conv(channels, classes));
}

at::Tensor TorchvisionFcnHead::forward(const Features& features) {
  return classify_pixels(classifier_, dropout_(conv_norm_relu(conv_, bn_, features.stages[stage_])));
}

}  // namespace tessera
