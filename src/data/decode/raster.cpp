#include "data/decode/raster.h"

#include "core/error.h"

namespace tessera {

Raster widened(Raster raster) {
  if (raster.words.empty()) return raster;
  raster.image.pixels = std::vector<float>(raster.words.begin(), raster.words.end());
  raster.words = {};
  return raster;
}

void check_dimensions(std::string_view format, uint64_t width, uint64_t height, uint64_t channels, uint64_t bytes_per_value,
                      uint64_t max_pixels) {
  TSR_CHECK(width > 0 && height > 0, "{} says {} x {} pixels: expected a width and a height of at least 1; the file is damaged",
            format, width, height);
  TSR_CHECK(channels > 0, "{} says it has no channels; the file is damaged", format);
  // Division instead of multiplication: the product of two forged 32-bit sizes overflows nothing here.
  TSR_CHECK(width <= kMaxPixels / height,
            "{} says {} x {} pixels, more than the 2^30 limit; the header is damaged, or the image must be cut in tiles first",
            format, width, height);
  TSR_CHECK(width * height <= max_pixels,
            "{} says {} x {} = {} pixels, more than data.max_pixels={}: a small file can be made to fill the memory; if you "
            "trust it, set data.max_pixels={}",
            format, width, height, width * height, max_pixels, width * height);
  TSR_CHECK(
      channels <= kMaxDecodedBytes / (width * height * bytes_per_value),
      "{} says {} x {} pixels of {} channels, more than the limit of 4 GiB in memory; the header is damaged, or the image "
      "must be cut in tiles first",
      format, width, height, channels);
}

}  // namespace tessera
