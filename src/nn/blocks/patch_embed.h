#pragma once
#include <torch/nn/modules/conv.h>

#include <array>

namespace tessera {

// Cuts an image into square patches and maps each to a token by one convolution. Images whose sides are no multiple of the
// patch are filled up with zeros on the right and below.
class PatchEmbedImpl : public torch::nn::Module {
 public:
  PatchEmbedImpl(int64_t in_channels, int64_t width, int64_t patch);

  // x: (N, channels, H, W). Result: (N, h * w, width), row by row, with (h, w) = grid(H, W).
  at::Tensor forward(const at::Tensor& x);

  std::array<int64_t, 2> grid(int64_t height, int64_t width) const;
  int64_t patch() const { return patch_; }

 private:
  int64_t patch_;
  torch::nn::Conv2d proj_{nullptr};
};
TORCH_MODULE(PatchEmbed);

}  // namespace tessera
