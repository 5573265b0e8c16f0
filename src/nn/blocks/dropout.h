#pragma once
#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>

namespace tessera {

// Layers whose randomness is a function of (seed, step, sample, layer), see tensor/step_context.h. `layer` is set once for a
// finished model by number_random_layers, so that two layers never share numbers.
class RandomLayer : public torch::nn::Module {
 public:
  uint32_t layer = 0;

 protected:
  // (N, per_sample) factors for this step; see kernels/common/dropout_mask.h.
  at::Tensor factors(const at::Tensor& x, int64_t per_sample, double rate) const;
};

// Drops whole channels (the field's Dropout2d).
class ChannelDropoutImpl : public RandomLayer {
 public:
  explicit ChannelDropoutImpl(double rate) : rate_(rate) {}
  at::Tensor forward(const at::Tensor& x);

 private:
  double rate_;
};
TORCH_MODULE(ChannelDropout);

// Drops a residual branch for whole samples (stochastic depth); x is the branch.
class DropPathImpl : public RandomLayer {
 public:
  explicit DropPathImpl(double rate) : rate_(rate) {}
  at::Tensor forward(const at::Tensor& x);

 private:
  double rate_;
};
TORCH_MODULE(DropPath);

void number_random_layers(torch::nn::Module& model);

}  // namespace tessera
