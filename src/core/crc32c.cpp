#include "core/crc32c.h"

#include <array>

namespace tessera {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78U;  // 0x1EDC6F41, bits reversed

// Eight tables, so that eight bytes are folded in per turn instead of one: table[k][b] is the checksum of byte b
// followed by k zero bytes.
constexpr std::array<std::array<uint32_t, 256>, 8> make_tables() {
  std::array<std::array<uint32_t, 256>, 8> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1U) != 0 ? kPolynomial : 0U);
    table[0][byte] = crc;
  }
  for (size_t k = 1; k < 8; ++k) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t shorter = table[k - 1][byte];
      table[k][byte] = (shorter >> 8) ^ table[0][shorter & 0xFFU];
    }
  }
  return table;
}

constexpr auto kTables = make_tables();

}  // namespace

uint32_t crc32c(std::span<const uint8_t> bytes) {
  uint32_t crc = 0xFFFFFFFFU;
  while (bytes.size() >= 8) {
    // The running checksum covers the first four bytes only.
    const std::array<uint32_t, 8> in{bytes[0] ^ (crc & 0xFFU),
                                     bytes[1] ^ ((crc >> 8) & 0xFFU),
                                     bytes[2] ^ ((crc >> 16) & 0xFFU),
                                     bytes[3] ^ (crc >> 24),
                                     bytes[4],
                                     bytes[5],
                                     bytes[6],
                                     bytes[7]};
    crc = 0;
    for (size_t i = 0; i < 8; ++i) crc ^= kTables[7 - i][in[i]];
    bytes = bytes.subspan(8);
  }
  for (const uint8_t byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ byte) & 0xFFU];
  return ~crc;
}

uint32_t crc32c(std::string_view text) {
  return crc32c(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

}  // namespace tessera
