// libFuzzer target: image files of all formats as images, whole and in parts, and as masks, under a small limit of pixels. Only
// an Error may come out.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "core/error.h"
#include "data/decode/decode.h"
#include "data/decode/mask.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr uint64_t kPixels = 1 << 16;
  const std::span<const uint8_t> file(data, size);
  using Kind = tessera::PlaneChoice::Kind;
  const tessera::StackChoice parts{.channels = {"0"}, .z = {Kind::kMax}, .t = {Kind::kMiddle}};
  for (const tessera::StackChoice& choice : {tessera::StackChoice{}, parts}) {
    try {
      const tessera::Image image =
          tessera::decode_image(file, {.channels = 3, .exif_orientation = true, .max_pixels = kPixels, .stack = choice});
      if (static_cast<uint64_t>(image.height) * static_cast<uint64_t>(image.width) > kPixels) std::abort();
    } catch (const tessera::Error&) {
    }
  }
  try {
    if (tessera::decode_mask(file, true, kPixels).values.size() > kPixels) std::abort();
  } catch (const tessera::Error&) {
  }
  return 0;
}
