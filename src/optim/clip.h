#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Scales the flat gradient arena in place so that its 2-norm is at most `max_norm` (0: only measures), by the factor of
// torch.nn.utils.clip_grad_norm_. Returns the norm before, a float64 scalar on the gradients' device, which is not waited for.
// On a CPU the bits do not depend on the number of threads. A norm that is not finite spoils the gradients: look at it
// before the step.
at::Tensor clip_grad_norm(at::Tensor& grads, double max_norm);

}  // namespace tessera
