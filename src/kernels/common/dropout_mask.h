#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera {

// The factors of a dropout layer: 0 with probability `rate`, else 1 / (1 - rate). Value e of sample n is a function of
// (keys[n], layer, e) alone, so it is the same on every device, rank and micro-batch.
// keys: (N) int64, see sample_keys in tensor/step_context.h. Result: (N, per_sample) float32 on their device.
at::Tensor dropout_mask(const at::Tensor& keys, int64_t per_sample, double rate, uint64_t layer);

}  // namespace tessera
