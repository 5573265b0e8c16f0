#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/norm/norm_act.h"
#include "tensor/step_context.h"

namespace tessera {

// Puts the moments of whole units in place of those of their parts, where these lie on several ranks, and has backward do the
// same with its means: see Note [Who computes what]. One collective forward and one backward, in which all ranks take part.
// Sums travel in float64.
void synchronise_units(const at::Tensor& x, const std::vector<NormSegment>& segments, const StepContext& context,
                       at::Tensor& moments, NormActOptions& options);

}  // namespace tessera
