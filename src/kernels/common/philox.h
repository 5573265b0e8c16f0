#pragma once
#include <cstdint>

#include "kernels/common/host_device.h"

namespace tessera {

// Philox4x32-10 for kernels: the same function as core/rng.h, in a form that also compiles for the GPU.
struct PhiloxBlock {
  uint32_t word[4];
};

TSR_HOST_DEVICE PhiloxBlock philox_block(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
  uint32_t k0 = static_cast<uint32_t>(key), k1 = static_cast<uint32_t>(key >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = 0xD2511F53ULL * c0, p1 = 0xCD9E8D57ULL * c2;
    const uint32_t n0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0, n2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return {{c0, c1, c2, c3}};
}

// Dropout factor of element e of a sample: dropped when its 32 random bits are below rate * 2^32.
TSR_HOST_DEVICE float dropout_factor(uint64_t layer, int64_t key, int64_t element, uint32_t threshold, float scale) {
  const uint64_t block = static_cast<uint64_t>(element) / 4, sample = static_cast<uint64_t>(key);
  const PhiloxBlock bits = philox_block(layer, static_cast<uint32_t>(block), static_cast<uint32_t>(block >> 32),
                                        static_cast<uint32_t>(sample), static_cast<uint32_t>(sample >> 32));
  return bits.word[element % 4] < threshold ? 0.0F : scale;
}

}  // namespace tessera
