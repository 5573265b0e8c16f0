#pragma once
#include "nn/blocks/batch_norm.h"
#include "nn/blocks/element_dropout.h"
#include "nn/blocks/layer.h"
#include "nn/heads/head.h"

namespace tessera {

// 3x3 convolutions on one stage, then the classifier; named as mmsegmentation's FCNHead. The auxiliary heads are of this kind.
class FcnHead : public DecodeHead {
 public:
  struct Options {
    size_t stage = 3;  // of the four, from 0
    int64_t channels = 512;
    int64_t classes = 2;
    int64_t convs = 2;
    bool concat_input = true;
    double dropout = 0.1;
  };
  FcnHead(int64_t in, const Options& options);
  at::Tensor forward(const Features& features) override;
  std::vector<size_t> stages() const override { return {stage_}; }

 private:
  size_t stage_;
  std::shared_ptr<LayerList> convs_;
  LayerPtr join_;  // null unless the input is joined
};

// torchvision's FCNHead: 3x3 to a quarter of the channels, dropout of single values, 1x1.
class TorchvisionFcnHead : public Head {
 public:
  TorchvisionFcnHead(int64_t in, int64_t classes, size_t stage, double dropout);
  at::Tensor forward(const Features& features) override;
  std::vector<size_t> stages() const override { return {stage_}; }

 private:
  size_t stage_;
  torch::nn::Conv2d conv_{nullptr}, classifier_{nullptr};
  BatchNorm2d bn_{nullptr};
  ElementDropout dropout_{nullptr};
};

}  // namespace tessera
