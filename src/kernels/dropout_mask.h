#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

namespace tessera {

// The factors of a dropout layer: 0 with probability `rate`, else 1 / (1 - rate). Value e of sample n is a function of
// (key, ids[n], e) alone, so it is the same on every device, rank and micro-batch.
// ids: (N) int64. Result: (N, per_sample) float32 on the device of ids.
at::Tensor dropout_mask(const at::Tensor& ids, int64_t per_sample, double rate, uint64_t key);

}  // namespace tessera
