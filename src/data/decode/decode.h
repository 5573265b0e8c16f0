#pragma once
#include <cstdint>
#include <span>

#include "core/image.h"
#include "data/decode/raster.h"
#include "data/decode/stack_choice.h"

namespace tessera {

struct DecodeOptions {
  int channels = 3;  // 1 grey, 3 RGB, 0 what the file shows (grey 1, colours 3, pages of a TIFF
                     // all of them), other: as in the file, which must have that many (pages of a TIFF count)
  bool exif_orientation =
      true;  // turn JPEGs, PNGs and WebPs as their EXIF tag says; a TIFF's own Orientation tag is always followed
  uint64_t max_pixels = kMaxPixels;  // a file that says it has more is refused before memory is taken
  StackChoice stack = {};            // what is taken of a file with several channels, planes or times
};

enum class FileFormat { kJpeg, kPng, kTiff, kBmp, kWebp, kJpeg2000, kNpy, kDicom };

// By the first bytes, never by the name. Throws Error saying what the file looks like instead.
FileFormat detect_format(std::span<const uint8_t> bytes);

// The values as they are stored, before any conversion, every one of them finite. keep_words: see Raster::words.
Raster decode_raster(std::span<const uint8_t> bytes, const DecodeOptions& options, bool keep_words = false);

// The bytes of an image file as pixels, every one of them finite. Any number of threads. Throws Error with the
// reason, without a file name: the caller knows what the bytes are called.
Image decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options);

}  // namespace tessera
