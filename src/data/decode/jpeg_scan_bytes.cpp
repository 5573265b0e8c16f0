#include "data/decode/jpeg_scan_bytes.h"

#include <cstring>

#include "data/simd/jpeg_loops.h"

namespace tessera {

std::optional<size_t> copy_scan_bytes(std::span<const uint8_t> from, std::vector<uint8_t>& to) {
  constexpr uint8_t kMarker = 0xFF, kStuffed = 0x00, kEndOfImage = 0xD9;
  if (to.size() < from.size() + kBytesBehind) to.resize(from.size() + kBytesBehind);
  uint8_t* out = to.data();
  while (!from.empty()) {
    const auto* found = static_cast<const uint8_t*>(std::memchr(from.data(), kMarker, from.size()));
    if (found == nullptr) return std::nullopt;
    const auto count = static_cast<size_t>(found - from.data());
    std::memcpy(out, from.data(), count);
    out += count;
    from = from.subspan(count + 1);
    if (from.empty()) return std::nullopt;
    if (from[0] == kEndOfImage) {
      std::memset(out, 0, kBytesBehind);
      return static_cast<size_t>(out - to.data());
    }
    if (from[0] != kStuffed) return std::nullopt;
    *out++ = kMarker;
    from = from.subspan(1);
  }
  return std::nullopt;
}

}  // namespace tessera
