#pragma once
#include <torch/nn/module.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/pimpl.h>

#include <utility>
#include <vector>

#include "kernels/norm/norm_pool.h"

namespace tessera {

// Note [Batch-norm units]
// Statistics are over a unit of train.norm_group consecutive samples of the global batch, not over whatever happens to be
// in one forward pass. A pass that holds several units normalises each by its own statistics, and the running averages take
// one update per unit, in order. So a batch of 16 in units of 4 gives the same result as one pass of 16, two of 8 or four
// of 4. A unit whose samples lie on several ranks has the statistics of all of them.

// A convolution's weights (channels_last) and bias with the running averages of a batch norm behind it in them.
struct FoldedConv {
  at::Tensor weight, bias;
};

// Batch norm over (N, C, H, W) with the parameters, buffers and arithmetic of torch.nn.BatchNorm2d, and what often follows it:
// one fused operation where kernels/norm/norm_act.h has one.
class BatchNorm2dImpl : public torch::nn::Module {
 public:
  explicit BatchNorm2dImpl(int64_t channels, double eps = 1e-5, double momentum = 0.1);
  at::Tensor forward(const at::Tensor& x);
  at::Tensor norm_relu(const at::Tensor& x);
  // norm_relu of x + offset (a number per channel). Only for x of which takes_offset holds.
  at::Tensor norm_relu(const at::Tensor& x, const at::Tensor& offset);
  bool takes_offset(const at::Tensor& x) const;
  // norm_relu, whose result then lies behind `before` free channels, and the 2 x 2 maxima of that result. Only for x of which
  // takes_pool holds; the offset may be undefined.
  NormPooled norm_relu_pool(const at::Tensor& x, const at::Tensor& offset, int64_t before);
  bool takes_pool(const at::Tensor& x) const;
  at::Tensor norm_add_relu(const at::Tensor& x, const at::Tensor& residual);

  // Folds the norm into the convolution before it, for inference. The result is kept until weights change or training goes on.
  const FoldedConv& fold(const torch::nn::Conv2dImpl& conv, at::ScalarType type);
  void train(bool on = true) override;

  double momentum() const { return momentum_; }

  at::Tensor weight, bias, running_mean, running_var;

 private:
  at::Tensor run(const at::Tensor& x, const at::Tensor& residual, bool relu);
  at::Tensor by_libtorch(const at::Tensor& x);
  at::Tensor with_running_averages(const at::Tensor& x, const at::Tensor& residual, bool relu);
  // Returns what to normalise the units by, and how, and updates the running averages.
  std::pair<at::Tensor, NormActOptions> unit_moments(const at::Tensor& x, const at::Tensor& offset, bool relu);
  at::Tensor with_units(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& offset, bool relu);
  double eps_, momentum_;
  FoldedConv folded_;
  std::vector<int64_t> folded_of_;  // versions of what it was made of
};
TORCH_MODULE(BatchNorm2d);

}  // namespace tessera
