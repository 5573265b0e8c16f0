#pragma once
#include <cstdint>

#include "core/philox.h"

namespace tessera {

// Dropout factor of element e of a sample: dropped when its 32 random bits are below rate * 2^32.
TSR_HOST_DEVICE float dropout_factor(uint64_t layer, int64_t key, int64_t element, uint32_t threshold, float scale) {
  const uint64_t block = static_cast<uint64_t>(element) / 4, sample = static_cast<uint64_t>(key);
  const PhiloxBlock bits = philox(layer, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                  static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32));
  return bits.word[element % 4] < threshold ? 0.0F : scale;
}

}  // namespace tessera
