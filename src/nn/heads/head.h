#pragma once
#include <torch/nn/modules/conv.h>

#include <memory>
#include <string>
#include <vector>

#include "nn/backbones/backbone.h"
#include "nn/blocks/dropout.h"

namespace tessera {

// From the features of a backbone to logits at the resolution of one of them.
class Head : public torch::nn::Module {
 public:
  virtual at::Tensor forward(const Features& features) = 0;
  // Which stages it reads, from 0: the other features may be undefined.
  virtual std::vector<size_t> stages() const { return {kStages - 1}; }
  // Draws the weights as the head's library does; here with torch's defaults, as torchvision's heads have. `prefix` is the
  // head's place in the model ("decode_head.").
  virtual void init(uint64_t seed, const std::string& prefix);
};
using HeadPtr = std::shared_ptr<Head>;

// A head that ends as mmsegmentation's do: dropout of whole channels, then a 1x1 classifier called conv_seg.
class DecodeHead : public Head {
 public:
  void init(uint64_t seed, const std::string& prefix) override;

 protected:
  void add_classifier(int64_t channels, int64_t classes, double dropout);
  at::Tensor classify(const at::Tensor& x);

 private:
  ChannelDropout dropout_{nullptr};
  torch::nn::Conv2d conv_seg_{nullptr};
};

}  // namespace tessera
