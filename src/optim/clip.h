#pragma once
#include "kernels/gradient_norm.h"

namespace tessera {

// The norm of the flat gradient arena and the factor that brings it to at most `max_norm` (0: any) and takes `loss_scale` out;
// the optimizer multiplies by it. The factor is undefined where it would be 1 anyway. A norm that is not finite spoils the
// weights: look at it before the step.
GradientNorm clip_grad_norm(const at::Tensor& grads, double max_norm, double loss_scale = 1);

}  // namespace tessera
