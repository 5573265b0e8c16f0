#pragma once
#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/update_rule.h"

namespace tessera {

// What optimizer_step does to the run [begin, end), with tensor operations: for devices without that kernel.
void update_with_tensors(at::Tensor& params, const at::Tensor& grads, const std::vector<at::Tensor>& state, int64_t begin,
                         int64_t end, const RunRates& rates, const at::Tensor& factor, UpdateRule rule,
                         const StepNumbers& numbers);

}  // namespace tessera
