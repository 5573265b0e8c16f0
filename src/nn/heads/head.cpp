#include "nn/heads/head.h"

#include <torch/types.h>

#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"

namespace tessera {

void DecodeHead::add_classifier(int64_t channels, int64_t classes, double dropout) {
  dropout_ = register_module("dropout", ChannelDropout(dropout));
  conv_seg_ = register_module("conv_seg", classifier_conv(channels, classes));
}

at::Tensor DecodeHead::classify(const at::Tensor& x) {
  return classify_pixels(conv_seg_, dropout_(x));
}

}  // namespace tessera
