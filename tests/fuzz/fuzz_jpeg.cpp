// libFuzzer target: windows of JPEGs by our own decoder, each beside the whole image by libjpeg: what is decoded at all must be
// the same, and nothing may be decoded of which libjpeg says that it is damaged. The first four bytes choose the window.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/error.h"
#include "data/decode/jpeg.h"
#include "data/decode/jpeg_reader.h"
#include "data/decode/jpeg_window.h"

namespace {

constexpr uint64_t kPixels = 1 << 16;
using Bytes = std::vector<uint8_t>;

std::pair<int, int> range(uint8_t a, uint8_t b, int all) {
  return {std::min(a, b) * all / 256, std::max(a, b) * all / 256 + 1};
}

std::optional<tessera::Image> by_library(std::span<const uint8_t> file) {
  try {
    return tessera::decode_jpeg(file, false, kPixels).image;
  } catch (const tessera::Error&) {
    return std::nullopt;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 4) return 0;
  const std::span<const uint8_t> file(data + 4, size - 4);
  try {
    tessera::JpegReader reader(file, false, kPixels);
    const auto [top, bottom] = range(data[0], data[1], static_cast<int>(reader->image_height));
    const auto [left, right] = range(data[2], data[3], static_cast<int>(reader->image_width));
    Bytes pixels;
    if (!tessera::decode_jpeg_window(*reader, {top, left, bottom, right}, pixels)) return 0;
    const std::optional<tessera::Image> whole = by_library(file);
    if (!whole) std::abort();
    const auto channels = static_cast<size_t>(whole->channels), width = static_cast<size_t>(right - left) * channels;
    if (pixels.size() != width * static_cast<size_t>(bottom - top)) std::abort();
    for (int y = top; y < bottom; ++y) {
      const uint8_t* row = whole->bytes().data() +
                           (static_cast<size_t>(y) * static_cast<size_t>(whole->width) + static_cast<size_t>(left)) * channels;
      if (!std::equal(row, row + width, pixels.data() + static_cast<size_t>(y - top) * width)) std::abort();
    }
  } catch (const tessera::Error&) {
  }
  return 0;
}
