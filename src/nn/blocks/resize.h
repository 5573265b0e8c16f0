#pragma once
#include <ATen/core/Tensor.h>
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

#include <vector>

#include "kernels/features/resize_bilinear.h"

namespace tessera {

// Bilinear, to the height and width of `like`.
at::Tensor resize_to(const at::Tensor& x, const at::Tensor& like, bool align_corners);

// The tensors' channels side by side, each tensor resized to the height and width of `like` where it has not got them.
at::Tensor concat_resized(const std::vector<at::Tensor>& xs, const at::Tensor& like, bool align_corners);
// concat_resized for tensors that must all have one size already.
at::Tensor concat(const std::vector<at::Tensor>& xs);

// Doubles height and width.
class BilinearDoubleImpl : public torch::nn::Module {
 public:
  at::Tensor forward(const at::Tensor& x) { return resize(x, {2 * x.size(2), 2 * x.size(3)}, /*align_corners=*/false); }
};
TORCH_MODULE(BilinearDouble);

}  // namespace tessera
