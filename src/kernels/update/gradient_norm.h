#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// float64 scalars on the gradients' device, which is not waited for.
struct GradientNorm {
  at::Tensor norm;         // 2-norm of the gradients
  at::Tensor clip_factor;  // what to multiply them by, so that the norm is at most the one allowed; NaN where it is not finite
                           // or the scaling holds
};

// grads: contiguous float32 or float64. max_norm: 0 allows any; else the clip factor is that of torch.nn.utils.clip_grad_norm_.
// scaling: the numbers of LossScaling on the device, or undefined. The gradients were made from a loss times its scale: the
// norm is without it, the clip factor takes it out, and the numbers move on to the next step. Sums are float64 and in a fixed
// order: the bits depend neither on the number of threads nor on the run.
GradientNorm gradient_norm(const at::Tensor& grads, double max_norm, const at::Tensor& scaling = {});

}  // namespace tessera
