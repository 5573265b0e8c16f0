#include "nn/heads/head.h"

#include <torch/types.h>

#include "nn/blocks/classifier.h"
#include "nn/blocks/conv.h"
#include "nn/init/init_layers.h"

namespace tessera {

void Head::init(uint64_t seed, const std::string& prefix) {
  init_layers(*this, LayerInit::kTorch, seed, prefix);
}

void DecodeHead::init(uint64_t seed, const std::string& prefix) {
  init_layers(*this, LayerInit::kKaimingFanOut, seed, prefix);
  init_layers(*conv_seg_, LayerInit::kNormal01, seed, prefix + "conv_seg.");
}

void DecodeHead::add_classifier(int64_t channels, int64_t classes, double dropout) {
  dropout_ = register_module("dropout", ChannelDropout(dropout));
  conv_seg_ = register_module("conv_seg", classifier_conv(channels, classes));
}

at::Tensor DecodeHead::classify(const at::Tensor& x) {
  return classify_pixels(conv_seg_, dropout_(x));
}

}  // namespace tessera
