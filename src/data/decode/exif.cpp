#include "data/decode/exif.h"

#include <algorithm>
#include <array>

namespace tessera {
namespace {

constexpr std::array<uint8_t, 6> kSignature = {'E', 'x', 'i', 'f', 0, 0};
constexpr uint32_t kOrientationTag = 0x0112;
constexpr uint32_t kShortType = 3;

// Reads numbers of either byte order; what lies outside the block is 0, which no valid field is.
struct Reader {
  std::span<const uint8_t> bytes;
  bool big_endian = false;

  uint32_t number(size_t offset, size_t length) const {
    if (offset > bytes.size() || length > bytes.size() - offset) return 0;
    uint32_t value = 0;
    for (size_t i = 0; i < length; ++i) value = value << 8 | bytes[offset + (big_endian ? i : length - 1 - i)];
    return value;
  }
};

bool has_signature(std::span<const uint8_t> block) {
  return block.size() >= kSignature.size() && std::equal(kSignature.begin(), kSignature.end(), block.begin());
}

}  // namespace

int app1_orientation(std::span<const uint8_t> app1) {
  return has_signature(app1) ? exif_orientation(app1) : 1;
}

int exif_orientation(std::span<const uint8_t> block) {
  Reader tiff{has_signature(block) ? block.subspan(kSignature.size()) : block};
  tiff.big_endian = tiff.number(0, 1) == 'M';
  if (tiff.number(2, 2) != 42) return 1;

  const size_t directory = tiff.number(4, 4);
  const uint32_t entries = tiff.number(directory, 2);
  for (uint32_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + size_t{12} * i;
    if (tiff.number(entry, 2) != kOrientationTag) continue;
    const uint32_t value = tiff.number(entry + 2, 2) == kShortType ? tiff.number(entry + 8, 2) : 1;
    return value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

}  // namespace tessera
