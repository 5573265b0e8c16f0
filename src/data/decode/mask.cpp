#include "data/decode/mask.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"
#include "data/decode/bmp.h"
#include "data/decode/decode.h"
#include "data/decode/dicom.h"
#include "data/decode/npy.h"
#include "data/decode/png.h"
#include "data/decode/tiff.h"
#include "data/decode/webp.h"

namespace tessera {
namespace {

constexpr float kLargestLabel = 65535.0F;

[[noreturn]] void fail_lossy(std::string_view format) {
  fail(
      "the mask is a {0}: expected PNG or TIFF. {0} is lossy, labels would be wrong along every edge; make the masks again as "
      "PNG",
      format);
}

template <class T>
std::vector<int32_t> first_channel(const std::vector<T>& pixels, size_t channels) {
  std::vector<int32_t> values(pixels.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(pixels[i * channels]);
  return values;
}

// Programs for microscopy write numbers of objects as 32-bit integers or floats; those that are labels all the same are taken.
void check_labels(const Image& image) {
  const std::vector<float>& pixels = image.floats();
  const auto channels = static_cast<size_t>(image.channels), width = static_cast<size_t>(image.width);
  for (size_t i = 0; i < pixels.size() / channels; ++i) {
    const float value = pixels[i * channels];
    TSR_CHECK(value >= 0.0F && value <= kLargestLabel && value == std::trunc(value),
              "the mask has the value {} at (y {}, x {}): expected whole numbers of 0 to 65535; convert it", value, i / width,
              i % width);
  }
}

// As those of .npy: what fits into bytes counts as such, whatever the type is that holds it.
int bits_of(const std::vector<int32_t>& labels) {
  return std::any_of(labels.begin(), labels.end(), [](int32_t label) { return label > 255; }) ? 16 : 8;
}

std::vector<int32_t> packed_colors(const std::vector<uint8_t>& pixels, size_t channels) {
  std::vector<int32_t> values(pixels.size() / channels);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint8_t* p = pixels.data() + i * channels;
    values[i] = p[0] << 16 | p[1] << 8 | p[2];
  }
  return values;
}

}  // namespace

Raster decode_mask_raster(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels) {
  switch (detect_format(bytes)) {
    case FileFormat::kPng: return decode_png(bytes, exif_orientation, max_pixels);
    case FileFormat::kTiff: return decode_tiff(bytes, max_pixels);
    case FileFormat::kBmp: return decode_bmp(bytes, max_pixels);
    case FileFormat::kNpy: return decode_npy_labels(bytes, max_pixels);
    case FileFormat::kDicom: return decode_dicom(bytes, max_pixels);
    case FileFormat::kWebp:
      if (!is_lossless_webp(bytes)) fail_lossy("WebP of the lossy kind");
      return decode_webp(bytes, exif_orientation, max_pixels);
    case FileFormat::kJpeg2000: fail_lossy("JPEG 2000");
    case FileFormat::kJpeg: fail_lossy("JPEG");
  }
  fail("unknown image format");
}

RawMask decode_mask(std::span<const uint8_t> bytes, bool exif_orientation, uint64_t max_pixels) {
  return raw_mask(decode_mask_raster(bytes, exif_orientation, max_pixels));
}

RawMask raw_mask(Raster raster) {
  const Image& image = raster.image;
  RawMask mask{
      .height = image.height, .width = image.width, .values = {}, .bits = raster.bits, .palette = std::move(raster.palette)};
  const auto channels = static_cast<size_t>(image.channels);
  switch (raster.kind) {
    case ColorKind::kGrey:
    case ColorKind::kGreyAlpha:
    case ColorKind::kPalette:
      if (image.is_bytes()) {
        mask.values = first_channel(image.bytes(), channels);
      } else if (image.max_value == kLargestLabel) {
        mask.values = first_channel(image.floats(), channels);
      } else {
        check_labels(image);
        mask.values = first_channel(image.floats(), channels);
        mask.bits = bits_of(mask.values);
      }
      return mask;
    case ColorKind::kRgb:
    case ColorKind::kRgba:
      TSR_CHECK(image.is_bytes(), "the mask is RGB of {} bits: expected 8 bits per channel; convert it", raster.bits);
      mask.rgb = true;
      mask.values = packed_colors(image.bytes(), channels);
      return mask;
    default:
      fail("the mask has {} channels without a meaning as labels: expected one page of grey, palette or RGB; convert it",
           image.channels);
  }
}

}  // namespace tessera
