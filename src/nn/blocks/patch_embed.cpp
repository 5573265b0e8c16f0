#include "nn/blocks/patch_embed.h"

#include <torch/types.h>

namespace tessera {

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
  return proj_(x).flatten(2).transpose(1, 2);
}

}  // namespace tessera
