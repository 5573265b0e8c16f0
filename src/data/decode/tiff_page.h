#pragma once
#include <cstdint>
#include <vector>

#include "data/decode/raster.h"
#include "data/decode/tiff_file.h"

namespace tessera {

// What the tags of the current page say, checked: everything in here can be decoded.
struct TiffPage {
  uint32_t width = 0, height = 0;
  uint16_t samples = 1;
  uint16_t bits = 8;
  uint16_t format = SAMPLEFORMAT_UINT;
  uint16_t photometric = PHOTOMETRIC_MINISBLACK;
  uint16_t orientation = ORIENTATION_TOPLEFT;
  bool separate = false;  // one plane per sample
  bool alpha = false;     // the last sample is said to be transparency

  bool as_bytes() const { return bits <= 8 && format == SAMPLEFORMAT_UINT; }
  float max_value() const;
  ColorKind kind() const;
};

// Throws Error naming the tag that cannot be used, and for a page of more than `max_pixels`.
TiffPage read_tiff_page(const TiffFile& file, uint64_t max_pixels);

// True for previews and transparency masks that accompany a picture.
bool is_auxiliary_page(const TiffFile& file);

std::vector<Color> read_tiff_palette(const TiffFile& file, const TiffPage& page);

// Throws Error when the file is too small to hold the page, before memory is taken for it.
void check_tiff_plausible(const TiffFile& file, const TiffPage& page);

// Decodes the current page into channels `first` .. `first + samples - 1` of `image`, whose sizes and type are set. words:
// where the values of a page of 16 bits go instead of the image's pixels.
void read_tiff_pixels(const TiffFile& file, const TiffPage& page, Image& image, int first, uint16_t* words = nullptr);

// The same for picture `number` of those that lie one behind the other after the strips of the current page, without
// directories of their own: so ImageJ writes stacks of more than 4 GiB.
void read_tiff_raw_pixels(const TiffFile& file, const TiffPage& page, uint64_t number, Image& image, int first);

}  // namespace tessera
