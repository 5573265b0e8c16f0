#pragma once
#include <vector>

#include "nn/blocks/batch_norm.h"
#include "nn/blocks/element_dropout.h"
#include "nn/blocks/layer.h"
#include "nn/heads/head.h"

namespace tessera {

// torchvision's DeepLabHead (DeepLabV3): ASPP with a 1x1 projection and dropout of single values, then 3x3 and 1x1.
class TorchvisionDeepLabHead : public Head {
 public:
  TorchvisionDeepLabHead(int64_t in, int64_t channels, int64_t classes, const std::vector<int64_t>& dilations,
                         double aspp_dropout);
  at::Tensor forward(const Features& features) override;

 private:
  LayerPtr aspp_;
  torch::nn::Conv2d conv_{nullptr}, classifier_{nullptr};
  BatchNorm2d bn_{nullptr};
};

}  // namespace tessera
