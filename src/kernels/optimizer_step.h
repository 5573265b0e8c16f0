#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/update_rule.h"

namespace tessera {

// The runs of an arena whose values are updated alike, on the arena's device.
struct RunTable {
  at::Tensor bounds;  // (R, 2) int64: begin and end, in order and without overlap
  at::Tensor rates;   // (R, 3) float64: the fields of RunRates
};
RunTable make_run_table(const std::vector<std::pair<int64_t, int64_t>>& bounds, const std::vector<RunRates>& rates,
                        at::Device device);

// One step of all runs in one pass over memory (one launch on a GPU, which waits for nothing). Values outside the runs stay.
// params, grads, state: contiguous, one length, float32 or float64. state: as many arenas as the rule has, see update_value.
// factor: float64 scalar on the device, or undefined: multiplies the gradients first.
void optimizer_step(at::Tensor& params, const at::Tensor& grads, const std::vector<at::Tensor>& state, const RunTable& runs,
                    const at::Tensor& factor, UpdateRule rule, const StepNumbers& numbers);

}  // namespace tessera
