#include "nn/blocks/patch_embed.h"

#include <torch/types.h>

#include "kernels/common/fused.h"
#include "nn/blocks/linear.h"
#include "tensor/product_type.h"

namespace tessera {
namespace {

// The convolution as what it is: patches do not overlap, so it is one matrix product. A patch's numbers lie as in a
// channels_last image, channels within pixels within rows, and so do the weight's. x: (N, C, rows * patch, columns * patch).
at::Tensor multiply_patches(const at::Tensor& x, const torch::nn::Conv2d& layer, int64_t patch) {
  const int64_t samples = x.size(0), channels = x.size(1), rows = x.size(2) / patch, columns = x.size(3) / patch;
  const at::Tensor patches = x.permute({0, 2, 3, 1})
                                 .reshape({samples, rows, patch, columns, patch * channels})
                                 .transpose(2, 3)
                                 .reshape({samples, rows * columns, patch * patch * channels});
  // The weight is cast before it is reshaped, since autocast keeps casts of parameters only.
  const at::Tensor turned = at::autocast::cached_cast(product_type(x), layer->weight, x.device().type());
  const at::Tensor weight = turned.permute({0, 2, 3, 1}).reshape({-1, patch * patch * channels});
  return linear_with_bias(patches, weight, layer->bias);
}

}  // namespace

PatchEmbedImpl::PatchEmbedImpl(int64_t in_channels, int64_t width, int64_t patch) : patch_(patch) {
  proj_ = register_module("proj", torch::nn::Conv2d(torch::nn::Conv2dOptions(in_channels, width, patch).stride(patch)));
}

std::array<int64_t, 2> PatchEmbedImpl::grid(int64_t height, int64_t width) const {
  return {(height + patch_ - 1) / patch_, (width + patch_ - 1) / patch_};
}

at::Tensor PatchEmbedImpl::forward(const at::Tensor& image) {
  const auto [rows, columns] = grid(image.size(2), image.size(3));
  const int64_t below = rows * patch_ - image.size(2), right = columns * patch_ - image.size(3);
  const at::Tensor x = below > 0 || right > 0 ? at::constant_pad_nd(image, {0, right, 0, below}) : image;
  if (use_fused_transformer(x)) return multiply_patches(x, proj_, patch_);
  return proj_(x).flatten(2).transpose(1, 2);
}

}  // namespace tessera
