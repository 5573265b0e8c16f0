#pragma once
#include <torch/nn/modules/conv.h>

#include <string>

#include "nn/blocks/conv_norm.h"
#include "nn/blocks/layer.h"

namespace tessera {

struct ConvShape {
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t groups = 1;
};

// A convolution without bias whose padding keeps the size (at stride 1).
torch::nn::Conv2d plain_conv(int64_t in, int64_t out, const ConvShape& shape);

// The last layer of a head: 1x1 or 3x3, with bias.
torch::nn::Conv2d classifier_conv(int64_t in, int64_t classes, int64_t kernel = 1);

// The names of convolution and batch norm: libraries differ, and weights are found by name.
struct ConvNames {
  std::string conv, bn;
};
inline const ConvNames kMmsegNames{"conv", "bn"};
inline const ConvNames kSequentialNames{"0", "1"};

// Convolution -> batch norm -> ReLU.
class ConvBlock : public Layer {
 public:
  ConvBlock(int64_t in, int64_t out, const ConvShape& shape, const ConvNames& names = kMmsegNames);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  torch::nn::Conv2d conv_{nullptr};
  BatchNorm2d bn_{nullptr};
};

// A depthwise 3x3 ConvBlock and a pointwise one: mmsegmentation's DepthwiseSeparableConvModule.
class SeparableConvBlock : public Layer {
 public:
  SeparableConvBlock(int64_t in, int64_t out, int64_t dilation = 1);
  at::Tensor forward(const at::Tensor& x) override;

 private:
  std::shared_ptr<ConvBlock> depthwise_, pointwise_;
};

// A 3x3 block of one kind or the other.
LayerPtr conv3x3_block(int64_t in, int64_t out, int64_t dilation, bool separable);

}  // namespace tessera
