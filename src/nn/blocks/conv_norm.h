#pragma once
#include <torch/nn/modules/conv.h>

#include "nn/blocks/batch_norm.h"

namespace tessera {

// Convolution -> batch norm (-> residual added) -> ReLU.
//
// In training a bias of the convolution is not added: batch norm takes out what it adds, so only the running mean sees it, and
// its gradient is zero. In inference on a GPU (evaluation mode, no gradients wanted) the norm is folded into the convolution's
// weights and bias, which then also adds the residual and does the ReLU: no pass over the features is left.
at::Tensor conv_norm(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x);
at::Tensor conv_norm_relu(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x);
at::Tensor conv_norm_add_relu(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x, const at::Tensor& residual);

// conv_norm_relu with the 2 x 2 maxima of its result, in one pass where kernels/norm/norm_pool.h does it: then, while training,
// the result lies behind `before` free channels of a concat buffer; else the buffer is undefined.
NormPooled conv_norm_relu_pool(torch::nn::Conv2d& conv, BatchNorm2d& norm, const at::Tensor& x, int64_t before);

// Finds that buffer again by the memory of y, or of a tensor that shares it. Undefined where y does not lie in a buffer with
// `before` channels in front of it.
at::Tensor concat_buffer_around(const at::Tensor& y, int64_t before);

}  // namespace tessera
