#include "nn/backbones/residual_block.h"

#include <torch/types.h>

#include "nn/blocks/conv.h"
#include "nn/blocks/pointwise_fork.h"

namespace tessera {
namespace {

// A ConvBlock without the ReLU.
class Downsample : public Layer {
 public:
  Downsample(int64_t in, int64_t out, int64_t stride)
      : conv_(register_module("0", plain_conv(in, out, {.stride = stride}))), bn_(register_module("1", BatchNorm2d(out))) {}
  at::Tensor forward(const at::Tensor& x) override { return conv_norm(conv_, bn_, x); }

 private:
  torch::nn::Conv2d conv_;
  BatchNorm2d bn_;
};

// A Downsample behind an average over stride x stride pixels, numbered as in a Sequential with the pooling first.
class AverageDownsample : public Layer {
 public:
  AverageDownsample(int64_t in, int64_t out, int64_t stride)
      : stride_(stride), conv_(register_module("1", plain_conv(in, out, {}))), bn_(register_module("2", BatchNorm2d(out))) {}
  at::Tensor forward(const at::Tensor& x) override {
    const bool pools = stride_ > 1;
    return conv_norm(conv_, bn_,
                     pools ? at::avg_pool2d(x, stride_, stride_, 0, /*ceil_mode=*/true, /*count_include_pad=*/false) : x);
  }

 private:
  int64_t stride_;
  torch::nn::Conv2d conv_;
  BatchNorm2d bn_;
};

}  // namespace

ResidualBlock::ResidualBlock(const ResidualShape& shape) {
  if (shape.stride == 1 && shape.in == shape.out) return;
  LayerPtr shortcut;
  if (shape.average_shortcut) {
    shortcut = std::make_shared<AverageDownsample>(shape.in, shape.out, shape.stride);
  } else {
    shortcut = std::make_shared<Downsample>(shape.in, shape.out, shape.stride);
  }
  downsample_ = register_module("downsample", shortcut);
}

at::Tensor ResidualBlock::forward(const at::Tensor& x) {
  const auto [inner, kept] = enter(x);
  return leave(inner, downsample_ ? downsample_->forward(kept) : kept);
}

BasicBlock::BasicBlock(const ResidualShape& s) : ResidualBlock(s) {
  conv1_ = register_module("conv1", plain_conv(s.in, s.out, {.kernel = 3, .stride = s.stride, .dilation = s.dilation}));
  bn1_ = register_module("bn1", BatchNorm2d(s.out));
  conv2_ = register_module("conv2", plain_conv(s.out, s.out, {.kernel = 3, .dilation = s.dilate_both ? s.dilation : 1}));
  bn2_ = register_module("bn2", BatchNorm2d(s.out));
}

std::pair<at::Tensor, at::Tensor> BasicBlock::enter(const at::Tensor& x) {
  return {conv_norm_relu(conv1_, bn1_, x), x};
}
at::Tensor BasicBlock::leave(const at::Tensor& inner, const at::Tensor& shortcut) {
  return conv_norm_add_relu(conv2_, bn2_, inner, shortcut);
}

Bottleneck::Bottleneck(const ResidualShape& s) : ResidualBlock(s) {
  conv1_ = register_module("conv1", plain_conv(s.in, s.width, {}));
  bn1_ = register_module("bn1", BatchNorm2d(s.width));
  conv2_ = register_module(
      "conv2", plain_conv(s.width, s.width, {.kernel = 3, .stride = s.stride, .dilation = s.dilation, .groups = s.groups}));
  bn2_ = register_module("bn2", BatchNorm2d(s.width));
  conv3_ = register_module("conv3", plain_conv(s.width, s.out, {}));
  bn3_ = register_module("bn3", BatchNorm2d(s.out));
}

std::pair<at::Tensor, at::Tensor> Bottleneck::enter(const at::Tensor& x) {
  if (!use_pointwise_fork(conv1_, x)) return {conv_norm_relu(conv1_, bn1_, x), x};
  const auto [y, kept] = pointwise_and_keep(x, conv1_->weight);
  return {bn1_->norm_relu(y), kept};
}
at::Tensor Bottleneck::leave(const at::Tensor& inner, const at::Tensor& shortcut) {
  return conv_norm_add_relu(conv3_, bn3_, conv_norm_relu(conv2_, bn2_, inner), shortcut);
}

int64_t set_last_gammas(torch::nn::Module& root, double gamma) {
  const at::NoGradGuard no_grad;
  int64_t blocks = 0;
  for (const auto& module : root.modules()) {
    auto* block = dynamic_cast<ResidualBlock*>(module.get());
    if (block == nullptr) continue;
    block->last_norm()->weight.fill_(gamma);
    ++blocks;
  }
  return blocks;
}

}  // namespace tessera
