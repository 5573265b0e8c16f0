#pragma once
#include <torch/nn/modules/conv.h>

#include <utility>

namespace tessera {

// A 1x1 convolution of x, and x again for those who use it beside it (a shortcut): in backward the convolution's product adds
// its gradient to theirs, where else a pass of its own would. x: channels_last.
std::pair<at::Tensor, at::Tensor> pointwise_and_keep(const at::Tensor& x, const at::Tensor& weight);

// Whether `conv` of x can be done so, and it pays: on a GPU, while training.
bool use_pointwise_fork(const torch::nn::Conv2d& conv, const at::Tensor& x);

}  // namespace tessera
