#include "nn/blocks/conv_norm.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

#include <array>

#include "kernels/common/fused.h"
#include "kernels/features/patch_conv.h"
#include "nn/blocks/pool.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

// Returns y, through which `parameter` gets a gradient of zero: ranks wait for the gradient of every parameter.
struct ZeroGradient : torch::autograd::Function<ZeroGradient> {
  static at::Tensor forward(torch::autograd::AutogradContext* ctx, const at::Tensor& y, const at::Tensor& parameter) {
    ctx->save_for_backward({parameter});
    return y;
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* ctx,
                                                 const torch::autograd::variable_list& grad_outputs) {
    return {grad_outputs[0], at::zeros_like(ctx->get_saved_variables()[0])};
  }
};

at::IntArrayRef padding_of(const torch::nn::Conv2dImpl& conv) {
  return std::get<torch::ExpandingArray<2>>(conv.options.padding());
}

bool is_all(at::IntArrayRef values, int64_t value) {
  return values[0] == value && values[1] == value;
}

// A network's first convolution on a GPU, see kernels/features/patch_conv.h.
bool goes_by_patches(const torch::nn::Conv2dImpl& conv, const at::Tensor& x) {
  const auto& options = conv.options;
  const at::IntArrayRef padding = padding_of(conv);
  return x.is_cuda() && use_fused(x) && can_use_patch_conv(x, conv.weight) && is_all(options.stride(), 1) &&
         is_all(options.dilation(), 1) && options.groups() == 1 && padding[0] == padding[1];
}

at::Tensor without_bias(const torch::nn::Conv2dImpl& conv, const at::Tensor& x) {
  const auto& options = conv.options;
  if (goes_by_patches(conv, x)) {
    const at::ScalarType type = product_type(x);
    return patch_conv(x.to(type), conv.weight.to(type), padding_of(conv)[0]);
  }
  return at::conv2d(x, conv.weight, {}, options.stride(), padding_of(conv), options.dilation(), options.groups());
}

// On a CPU the convolution would not do the ReLU, and the norm does it on its one pass.
bool folds(const BatchNorm2dImpl& norm, const at::Tensor& x) {
  return x.is_cuda() && !norm.is_training() && !at::GradMode::is_enabled() && use_fused(x);
}

at::Tensor folded(const torch::nn::Conv2dImpl& conv, BatchNorm2dImpl& norm, const at::Tensor& given, const at::Tensor& residual,
                  bool relu) {
  const at::ScalarType type = product_type(given);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const FoldedConv& with_norm = norm.fold(conv, type);
  const auto& options = conv.options;
  const at::Tensor x = given.to(type);
  if (type != at::kDouble && relu) {
    if (!residual.defined())
      return at::cudnn_convolution_relu(x, with_norm.weight, with_norm.bias, options.stride(), padding_of(conv),
                                        options.dilation(), options.groups());
    return at::cudnn_convolution_add_relu(x, with_norm.weight, residual.to(type), /*alpha=*/1.0, with_norm.bias,
                                          options.stride(), padding_of(conv), options.dilation(), options.groups());
  }
  at::Tensor y =
      at::conv2d(x, with_norm.weight, with_norm.bias, options.stride(), padding_of(conv), options.dilation(), options.groups());
  if (residual.defined()) y.add_(residual);
  return relu ? y.relu_() : y;
}

}  // namespace

at::Tensor conv_norm(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x) {
  return folds(*norm, x) ? folded(*conv, *norm, x, {}, /*relu=*/false) : norm(conv(x));
}

at::Tensor conv_norm_relu(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x) {
  if (folds(*norm, x)) return folded(*conv, *norm, x, {}, /*relu=*/true);
  if (!conv->bias.defined() || !norm->can_fuse_offset(x)) return norm->norm_relu(conv(x));
  return ZeroGradient::apply(norm->norm_relu(without_bias(*conv, x), conv->bias), conv->bias);
}

NormPooled conv_norm_relu_pool(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x, int64_t before) {
  if (norm->can_fuse_offset(x)) {
    const at::Tensor features = without_bias(*conv, x);
    if (norm->can_fuse_pool(features)) {
      NormPooled all = norm->norm_relu_pool(features, conv->bias, before);
      if (conv->bias.defined()) all.pooled = ZeroGradient::apply(all.pooled, conv->bias);
      return all;
    }
  }
  const auto [pooled, y] = maxima_and_features(conv_norm_relu(conv, norm, x), {.kernel = 2, .stride = 2});
  return {pooled, y, {}};
}

at::Tensor concat_buffer_around(const at::Tensor& y, int64_t before) {
  const int64_t samples = y.size(0), height = y.size(2), width = y.size(3), channels = before + y.size(1);
  const std::array<int64_t, 4> sizes{samples, channels, height, width};
  const std::array<int64_t, 4> strides{height * width * channels, 1, width * channels, channels};
  const auto bytes = static_cast<size_t>(samples * channels * height * width) * y.element_size();
  if (y.strides() != at::IntArrayRef(strides) || y.storage_offset() != before || y.storage().nbytes() != bytes) return {};
  const at::AutoDispatchBelowADInplaceOrView below_autograd;  // no view in autograd's sense, as make_concat_buffer's are none
  return y.as_strided(sizes, strides, /*storage_offset=*/0);
}

at::Tensor conv_norm_add_relu(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x, const at::Tensor& residual) {
  if (folds(*norm, x)) return folded(*conv, *norm, x, residual, /*relu=*/true);
  return norm->norm_add_relu(conv(x), residual);
}

}  // namespace tessera
