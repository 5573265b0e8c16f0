#include "data/decode/stored_labels.h"

#include <utility>

#include "data/decode/label_rules.h"
#include "data/decode/mask.h"

namespace tessera {
namespace {

bool is_of_bytes(const Raster& raster) {
  return raster.image.is_bytes() && raster.image.channels == 1 && !raster.with_sign &&
         (raster.kind == ColorKind::kGrey || raster.kind == ColorKind::kPalette);
}

}  // namespace

StoredLabels decode_stored_labels(std::span<const uint8_t> bytes, const LabelConfig& rules, int num_classes,
                                  bool exif_orientation, uint64_t max_pixels) {
  Raster raster = decode_mask_raster(bytes, exif_orientation, max_pixels);
  StoredLabels stored;
  stored.height = raster.image.height;
  stored.width = raster.image.width;
  // What a palette of black and white means under `binary` is decided by looking at all pixels.
  if (is_of_bytes(raster) && !(rules.binary && !raster.palette.empty())) {
    const RawMask facts{.height = stored.height,
                        .width = stored.width,
                        .values = {},
                        .bits = raster.bits,
                        .palette = std::move(raster.palette)};
    stored.values = std::move(raster.image.bytes());
    stored.class_of = classes_of_values(facts, stored.values, rules, num_classes);
  } else {
    stored.labels = apply_label_rules(raw_mask(std::move(raster)), rules, num_classes).labels;
  }
  return stored;
}

}  // namespace tessera
