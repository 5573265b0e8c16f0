#include "nn/blocks/conv.h"

#include <torch/types.h>

#include "kernels/common/fused.h"
#include "kernels/features/depthwise_conv.h"

namespace tessera {
namespace {

// Whether depthwise_conv computes this convolution of x. On a CPU libtorch's own is a good one.
bool use_depthwise_conv(const at::Tensor& x, const torch::nn::detail::ConvNdOptions<2>& conv) {
  return conv.groups() > 1 && conv.groups() == conv.in_channels() && conv.groups() == conv.out_channels() &&
         conv.kernel_size()->at(0) == 3 && conv.stride()->at(0) == 1 && use_fused(x) && !x.is_cpu();
}

}  // namespace

torch::nn::Conv2d plain_conv(int64_t in, int64_t out, const ConvShape& shape) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, shape.kernel)
                               .stride(shape.stride)
                               .padding(shape.dilation * (shape.kernel / 2))
                               .dilation(shape.dilation)
                               .groups(shape.groups)
                               .bias(false));
}

torch::nn::Conv2d classifier_conv(int64_t in, int64_t classes, int64_t kernel) {
  return torch::nn::Conv2d(torch::nn::Conv2dOptions(in, classes, kernel).padding(kernel / 2));
}

ConvBlock::ConvBlock(int64_t in, int64_t out, const ConvShape& shape, const ConvNames& names)
    : conv_(register_module(names.conv, plain_conv(in, out, shape))), bn_(register_module(names.bn, BatchNorm2d(out))) {}

at::Tensor ConvBlock::forward(const at::Tensor& x) {
  const auto& options = conv_->options;
  if (use_depthwise_conv(x, options)) return bn_->norm_relu(depthwise_conv(x, conv_->weight, options.dilation()->at(0)));
  return conv_norm_relu(conv_, bn_, x);
}

SeparableConvBlock::SeparableConvBlock(int64_t in, int64_t out, int64_t dilation)
    : depthwise_(register_module(
          "depthwise_conv", std::make_shared<ConvBlock>(in, in, ConvShape{.kernel = 3, .dilation = dilation, .groups = in}))),
      pointwise_(register_module("pointwise_conv", std::make_shared<ConvBlock>(in, out, ConvShape{}))) {}

at::Tensor SeparableConvBlock::forward(const at::Tensor& x) {
  return pointwise_->forward(depthwise_->forward(x));
}

LayerPtr conv3x3_block(int64_t in, int64_t out, int64_t dilation, bool separable) {
  if (separable) return std::make_shared<SeparableConvBlock>(in, out, dilation);
  return std::make_shared<ConvBlock>(in, out, ConvShape{.kernel = 3, .dilation = dilation});
}

}  // namespace tessera
