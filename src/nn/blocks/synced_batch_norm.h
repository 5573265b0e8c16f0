#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/norm/norm_act.h"
#include "tensor/step_context.h"

namespace tessera {

// For segments of units that lie on several ranks, see Note [Who computes what]: puts the moments of the whole units in place
// of those of the parts, and sees to it that backward does the same with its means. One collective forward and one backward, in
// which all ranks take part. Sums travel in float64.
void synchronise_units(const at::Tensor& x, const std::vector<NormSegment>& segments, const StepContext& context,
                       at::Tensor& moments, NormActOptions& options);

}  // namespace tessera
