#include "data/decode/class_channels.h"

#include <algorithm>

#include "core/class_bits.h"
#include "core/error.h"
#include "data/decode/mask.h"

namespace tessera {
namespace {

int channels_with_meaning(const Raster& raster) {
  switch (raster.kind) {
    case ColorKind::kGreyAlpha: return 1;
    case ColorKind::kRgba: return 3;
    default: return raster.image.channels;
  }
}

template <class T>
LabelMap labels_of(const std::vector<T>& pixels, const Image& image, const LabelConfig& rules, int channels, int num_classes) {
  LabelMap map(image.height, image.width);
  const auto stride = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < map.labels.size(); ++i) {
    int label = 0;
    bool ignored = false;
    for (int c = 0; c < channels; ++c) {
      const auto value = static_cast<int64_t>(pixels[i * stride + static_cast<size_t>(c)]);
      if (value == 0) continue;
      if (std::find(rules.ignore.begin(), rules.ignore.end(), value) != rules.ignore.end()) {
        ignored = true;
        continue;
      }
      if (c >= num_classes) {
        const size_t width = static_cast<size_t>(image.width);
        fail("channel {} of the mask is {} at (y {}, x {}), but data.classes has {} names; name the class of each channel",
             c + 1, value, i / width, i % width, num_classes);
      }
      label |= 1 << c;
    }
    map.labels[i] = ignored ? kIgnoreLabel : static_cast<int16_t>(label);
  }
  return map;
}

}  // namespace

LabelMap decode_class_channels(std::span<const uint8_t> bytes, const LabelConfig& rules, int num_classes, bool exif_orientation,
                               uint64_t max_pixels) {
  const Raster raster = decode_mask_raster(bytes, exif_orientation, max_pixels);
  const Image& image = raster.image;
  const int channels = channels_with_meaning(raster);
  TSR_CHECK(
      raster.kind != ColorKind::kPalette,
      "the mask has a palette: with data.labels.multi a single file holds a channel (or page) for each of the {} classes; "
      "or give each class a file of its own",
      num_classes);
  TSR_CHECK(channels >= num_classes,
            "the mask has {} {}, expected one for each of the {} classes (data.labels.multi); or give each class a file of its "
            "own, in a folder or with an ending named after it",
            channels, channels == 1 ? "channel" : "channels", num_classes);
  TSR_CHECK(!raster.with_sign && (image.is_bytes() || image.max_value == 65535.0F),
            "the mask has {}-bit signed or fractional values: expected unsigned whole numbers of up to 16 bits; convert it",
            raster.bits);
  return std::visit([&](const auto& pixels) { return labels_of(pixels, image, rules, channels, num_classes); }, image.pixels);
}

}  // namespace tessera
