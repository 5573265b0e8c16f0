#pragma once
#include "kernels/norm/norm_act.h"

namespace tessera {

// A group's samples of x.
at::Tensor samples_of_group(const at::Tensor& x, const NormActOptions& options, int64_t group);

// Takes the masked groups out of what backward has summed: their means become 0, the gradients those of the others.
void mask_groups(const NormActOptions& options, const at::Tensor& x, at::Tensor& means, at::Tensor& grad_weight,
                 at::Tensor& grad_bias);

}  // namespace tessera
