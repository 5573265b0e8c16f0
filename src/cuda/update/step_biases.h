#pragma once
#include "cuda/common/launch.h"
#include "kernels/update/loss_scaling.h"
#include "kernels/update/update_rule.h"

namespace tessera {

// The moments' biases from the steps counted on the device, where they are counted there. All threads of a block must call
// it; one of them does the powers.
__device__ __forceinline__ void take_biases(StepNumbers& numbers, const LossScaling* scaling) {
  __shared__ double biases[3];
  if (scaling == nullptr) return;
  if (threadIdx.x == 0) {
    set_biases(numbers, scaling->applied_steps);
    biases[0] = numbers.first_bias;
    biases[1] = numbers.second_bias;
    biases[2] = numbers.steps;
  }
  __syncthreads();
  numbers.first_bias = biases[0];
  numbers.second_bias = biases[1];
  numbers.steps = biases[2];
}

}  // namespace tessera
