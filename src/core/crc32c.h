#pragma once
#include <cstdint>
#include <span>
#include <string_view>

namespace tessera {

// CRC-32C (Castagnoli), the checksum of TFRecord files and of many storage formats. crc32c("123456789") is 0xE3069283.
uint32_t crc32c(std::span<const uint8_t> bytes);
uint32_t crc32c(std::string_view text);

// The form TFRecord stores: rotated and offset, so that a checksum of data that holds checksums stays a good one.
constexpr uint32_t mask_crc32c(uint32_t crc) {
  return ((crc >> 15) | (crc << 17)) + 0xA282EAD8U;
}

}  // namespace tessera
