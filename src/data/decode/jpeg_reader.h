#pragma once
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
// jpeglib.h needs the above.
#include <jpeglib.h>

#include "data/decode/raster.h"

namespace tessera {

// libjpeg's decoder of a file whose header is read and within the limits, ready to start, with errors as decode_jpeg has them.
class JpegReader {
 public:
  JpegReader(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels);
  ~JpegReader() { jpeg_destroy_decompress(&jpeg_); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  jpeg_decompress_struct& operator*() { return jpeg_; }
  jpeg_decompress_struct* operator->() { return &jpeg_; }
  ColorKind kind() const { return kind_; }  // of the pixels it gives

  // What the EXIF tags ask for that were read so far, where it is wanted.
  int orientation() const;

 private:
  jpeg_decompress_struct jpeg_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  size_t file_size_;
  ColorKind kind_ = ColorKind::kGrey;
};

}  // namespace tessera
