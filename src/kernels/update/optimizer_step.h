#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/update/update_rule.h"

namespace tessera {

// The ranges of an arena whose values are updated alike, on the arena's device.
struct RangeTable {
  at::Tensor bounds;  // (R, 2) int64: begin and end, in order and without overlap
  at::Tensor rates;   // (R, 7) float64: the bytes of RangeRates
  at::Tensor chunks;  // (C, 3) int64: the ranges in parts of one length, in order: range, begin, end
};
RangeTable make_range_table(const std::vector<std::pair<int64_t, int64_t>>& bounds, const std::vector<RangeRates>& rates,
                            at::Device device);

// The arenas that a step reads and changes, contiguous and of one length.
struct StepArenas {
  at::Tensor params, grads;       // float32 or float64, as are state and average
  std::vector<at::Tensor> state;  // as many as the rule has, see update_value
  at::Tensor average = {};        // or undefined: moves towards the new weights, see average_value
  at::Tensor copies = {};         // or undefined: bf16 or half, gets the new weights
};

// How gradients are scaled, on the arena's device.
struct GradientScale {
  at::Tensor clip_factor = {};  // float64 scalar, or undefined: multiplies the gradients first
  at::Tensor scaling = {};  // numbers of LossScaling, or undefined: then weights, state and average stay where clip_factor is
                            // not finite, and the moments' biases follow from the steps counted there
};

// One step of all ranges in one pass over memory (one launch on a GPU, which waits for nothing). Values outside the ranges
// stay. norms: of lamb and lars, see trust_norms.
void optimizer_step(const StepArenas& arenas, const RangeTable& ranges, const GradientScale& scale, UpdateRule rule,
                    const StepNumbers& numbers, const at::Tensor& norms = {});

// Comes before a step of lamb or lars, see Note [LAMB] and Note [LARS]: sums up the squares of each range's weights, and of its
// updates (lamb, whose moments it moves) or gradients (lars): (R, 2) float64. Where a range is part of a tensor, add up the
// rows of its parts. Sums are in a fixed order.
at::Tensor trust_norms(const StepArenas& arenas, const RangeTable& ranges, const GradientScale& scale, UpdateRule rule,
                       const StepNumbers& numbers);

}  // namespace tessera
