#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace tessera {

// Spreads values of 1, 2, 4 or 8 bits, the most significant first, over one byte each: a row of a PNG or TIFF.
inline void unpack_bits(std::span<const uint8_t> packed, int bits, std::span<uint8_t> values) {
  const size_t per_byte = 8 / static_cast<size_t>(bits);
  const unsigned mask = (1U << bits) - 1;
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t shift = 8 - static_cast<size_t>(bits) * (i % per_byte + 1);
    values[i] = static_cast<uint8_t>(packed[i / per_byte] >> shift & mask);
  }
}

}  // namespace tessera
