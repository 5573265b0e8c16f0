#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>

#include "core/philox.h"

namespace tessera {

// The factors of a dropout layer: 0 with probability `rate`, else 1 / (1 - rate). Value e of sample n is a function of
// (keys[n], layer, e) alone, so it is the same on every device, rank and micro-batch.
// keys: (N) int64, see sample_keys in tensor/step_context.h. Result: (N, per_sample) float32 on their device.
at::Tensor dropout_mask(const at::Tensor& keys, int64_t per_sample, double rate, uint64_t layer);

// One of these factors: 0 when the 32 random bits of the element are below `threshold`, which is rate * 2^32, else `scale`.
TSR_HOST_DEVICE float dropout_factor(uint64_t layer, int64_t key, int64_t element, uint32_t threshold, float scale) {
  const uint64_t block = static_cast<uint64_t>(element) / 4, sample = static_cast<uint64_t>(key);
  const PhiloxBlock bits = philox(layer, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                  static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32));
  return bits.word[element % 4] < threshold ? 0.0F : scale;
}

}  // namespace tessera
