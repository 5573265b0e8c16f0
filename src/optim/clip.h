#pragma once
#include "kernels/update/gradient_norm.h"

namespace tessera {

// The norm of the flat gradient arena and the factor that brings it to at most `max_norm` (0: any) and takes fp16's loss scale
// out; the optimizer multiplies by it. scaling: see gradient_norm. clip_factor is undefined where it would be 1 anyway. A norm
// that is not finite spoils the weights unless the optimizer gets the scaling too.
GradientNorm clip_grad_norm(const at::Tensor& grads, double max_norm, const at::Tensor& scaling = {});

}  // namespace tessera
