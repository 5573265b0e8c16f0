#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/update/optimizer_step.h"
#include "optim/param_ranges.h"

namespace tessera {

// optimizer_step and trust_norms with tensor operations, for devices without those kernels. clip_factor: multiplies the
// gradients, or undefined.
void update_with_tensors(const StepArenas& arenas, const std::vector<ParamRange>& ranges, const std::vector<RangeRates>& rates,
                         const at::Tensor& clip_factor, UpdateRule rule, const StepNumbers& numbers, const at::Tensor& norms);
at::Tensor trust_norms_with_tensors(const StepArenas& arenas, const std::vector<ParamRange>& ranges,
                                    const std::vector<RangeRates>& rates, const at::Tensor& clip_factor, UpdateRule rule,
                                    const StepNumbers& numbers);

// Writes the moving average, which a step that is skipped leaves, and the copies, as optimizer_step does.
void write_out_with_tensors(const StepArenas& arenas, const StepNumbers& numbers, bool skips);

}  // namespace tessera
