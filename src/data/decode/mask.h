#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/image.h"
#include "data/decode/raster.h"

namespace tessera {

// A label image as stored, before values become classes.
struct RawMask {
  int height = 0;
  int width = 0;
  bool rgb = false;             // values are packed colours 0xRRGGBB, else grey values or palette indices
  std::vector<int32_t> values;  // (height, width)
  int bits = 8;                 // of a stored grey value or index
  std::vector<Color> palette;   // of a palette mask: the colours of its indices, for data.labels.colors
};

// A label image as it is stored, with all its channels. Throws Error for JPEG, whose compression invents values between the
// labels.
Raster decode_mask_raster(std::span<const uint8_t> bytes, bool exif_orientation = true, uint64_t max_pixels = kMaxPixels);

// PNG, TIFF, BMP, lossless WebP, .npy or DICOM. A palette gives its INDEX, not its colour; grey of 1 to 16 bits gives the
// stored value; alpha is dropped. A PNG or WebP is turned as its EXIF tag says where asked, a TIFF always by its own: as their
// images are. Throws Error for JPEG and the like, whose compression invents values between the labels, and for files that are
// no label image or say that they have more than `max_pixels`.
RawMask decode_mask(std::span<const uint8_t> bytes, bool exif_orientation = true, uint64_t max_pixels = kMaxPixels);

// What decode_mask makes of such a raster.
RawMask raw_mask(Raster raster);

}  // namespace tessera
