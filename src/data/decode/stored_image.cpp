#include "data/decode/stored_image.h"

#include <utility>

#include "data/decode/color.h"

namespace tessera {
namespace {

// Whether the channels are there as they are: the first of the file, or its grey repeated.
bool only_selects(const Raster& raster, int channels) {
  if (raster.bits < 8) return false;
  switch (raster.kind) {
    case ColorKind::kGrey:
    case ColorKind::kGreyAlpha: return channels == 1 || channels == 3 || channels == raster.image.channels;
    case ColorKind::kRgb:
    case ColorKind::kRgba: return channels == 3 || channels == raster.image.channels;
    case ColorKind::kStack: return channels == raster.image.channels;
    default: return false;
  }
}

}  // namespace

StoredImage::StoredImage(Image image)
    : height(image.height), width(image.width), channels(image.channels), max_value(image.max_value) {
  std::visit([&](auto& values) { pixels = std::move(values); }, image.pixels);
}

StoredImage decode_stored(std::span<const uint8_t> bytes, const DecodeOptions& options) {
  Raster raster = decode_raster(bytes, options, /*keep_words=*/true);
  if (!only_selects(raster, options.channels)) return StoredImage(to_channels(widened(std::move(raster)), options.channels));
  StoredImage stored(std::move(raster.image));
  if (!raster.words.empty()) stored.pixels = std::move(raster.words);
  return stored;
}

}  // namespace tessera
