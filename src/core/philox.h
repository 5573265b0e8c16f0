#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

struct PhiloxBlock {
  uint32_t word[4];

  bool operator==(const PhiloxBlock&) const = default;
};

// Philox4x32-10 (Salmon et al., SC 2011): a pure function from (key, counter) to 128 random bits. All randomness of a run
// comes from it, so nothing depends on threads, ranks, micro-batches or restarts; on a GPU it gives the same bits.
TSR_HOST_DEVICE PhiloxBlock philox(uint64_t key, uint32_t c0, uint32_t c1, uint32_t c2, uint32_t c3) {
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

}  // namespace tessera
