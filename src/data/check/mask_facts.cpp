#include "data/check/mask_facts.h"

#include <algorithm>
#include <cstdlib>

namespace tessera {
namespace {

// The image saved once more, perhaps as grey: as good as every pixel is its brightness.
bool shows_image(const RawMask& mask, const Image& image) {
  constexpr int kNear = 3;
  constexpr int64_t kFewestValues = 16;
  if (!image.is_bytes() || image.size() != Size{mask.height, mask.width} || (!mask.rgb && mask.bits != 8)) return false;
  const auto channels = static_cast<size_t>(image.channels);
  const std::vector<uint8_t>& pixels = image.bytes();
  int64_t far = 0;
  for (size_t i = 0; i < mask.values.size(); ++i) {
    const uint8_t* p = pixels.data() + i * channels;
    // Luma as converters compute it; of other channels than three the first.
    const int grey = channels == 3 ? (299 * p[0] + 587 * p[1] + 114 * p[2] + 500) / 1000 : p[0];
    const int32_t v = mask.values[i];
    const bool near = mask.rgb && channels == 3
                          ? std::abs((v >> 16) - p[0]) <= kNear && std::abs((v >> 8 & 0xFF) - p[1]) <= kNear &&
                                std::abs((v & 0xFF) - p[2]) <= kNear
                          : std::abs((mask.rgb ? v & 0xFF : v) - grey) <= kNear;
    far += near ? 0 : 1;
    if (far * 100 > std::ssize(mask.values)) return false;
  }
  std::vector<int32_t> values = mask.values;
  std::sort(values.begin(), values.end());
  return std::unique(values.begin(), values.end()) - values.begin() >= kFewestValues;
}

}  // namespace

void measure_mask(const RawMask& mask, const Image& image, MaskFacts& facts) {
  if (mask.values.empty()) return;
  facts.read = true;
  const auto is_grey = [](int32_t v) { return v == (v & 0xFF) * 0x010101; };
  facts.coloured = mask.rgb && !std::all_of(mask.values.begin(), mask.values.end(), is_grey);
  const auto stored = [&](int32_t v) { return mask.rgb && !facts.coloured ? v & 0xFF : v; };
  const int32_t top = facts.coloured ? 0xFFFFFF : mask.rgb || mask.bits == 8 ? 255 : mask.bits == 16 ? 65535 : -1;
  int64_t zeros = 0, tops = 0;
  facts.lowest = facts.highest = stored(mask.values[0]);
  for (const int32_t value : mask.values) {
    const int32_t v = stored(value);
    facts.lowest = std::min(facts.lowest, v);
    facts.highest = std::max(facts.highest, v);
    zeros += v == 0 ? 1 : 0;
    tops += v == top ? 1 : 0;
  }
  const auto count = static_cast<double>(mask.values.size());
  facts.zero_share = static_cast<double>(zeros) / count;
  facts.top_share = static_cast<double>(tops) / count;
  facts.only_zero_and_top = tops > 0 && zeros + tops == std::ssize(mask.values);
  facts.borders = look_at_borders(mask);
  facts.is_image = facts.is_image || shows_image(mask, image);
}

}  // namespace tessera
