#include "data/decode/decode.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/npy_header.h"
#include "data/decode/bmp.h"
#include "data/decode/color.h"
#include "data/decode/dicom.h"
#include "data/decode/dicom_elements.h"
#include "data/decode/jpeg.h"
#include "data/decode/jpeg2000.h"
#include "data/decode/npy.h"
#include "data/decode/png.h"
#include "data/decode/tiff.h"
#include "data/decode/webp.h"

namespace tessera {
namespace {

using namespace std::string_view_literals;

struct Lookalike {
  std::string_view start;
  std::string_view advice;
};

// What turns up under image names in real data sets.
constexpr std::array<Lookalike, 8> kLookalikes = {{{"<"sv, "is it a web page?"},
                                                   {"{"sv, "is it a JSON answer of a server?"},
                                                   {"version https://git-lfs"sv, "it is a Git LFS pointer: run git lfs pull"},
                                                   {"GIF8"sv, "it is a GIF: convert it to PNG"},
                                                   {"PK\3\4"sv, "it is a ZIP archive: unpack it first"},
                                                   {"\x1F\x8B"sv, "it is gzip-compressed: unpack it first"},
                                                   {"\x89HDF"sv, "it is an HDF5 file: export its images as TIFF"},
                                                   {"%PDF"sv, "it is a PDF"}}};

bool starts_with(std::span<const uint8_t> bytes, std::string_view start) {
  return std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()).starts_with(start);
}

[[noreturn]] void fail_unknown(std::span<const uint8_t> bytes) {
  std::string hex;
  std::string text;
  for (const uint8_t byte : bytes.first(std::min<size_t>(bytes.size(), 4))) {
    hex += fmt::format("{}{:02X}", hex.empty() ? "" : " ", byte);
    text += byte >= 0x20 && byte < 0x7F ? static_cast<char>(byte) : '.';
  }
  std::string advice = "is it damaged, or of another format?";
  for (const Lookalike& known : kLookalikes) {
    if (starts_with(bytes, known.start)) advice = known.advice;
  }
  if (bytes.size() >= 12 && starts_with(bytes.subspan(4), "ftyp")) advice = "it looks like HEIC or AVIF: convert it to PNG";
  fail("not an image: expected JPEG, PNG, TIFF, BMP, WebP, JPEG 2000, .npy or DICOM, the file starts with {} ('{}'); {}", hex,
       text, advice);
}

// One NaN makes the loss of its whole batch NaN. Bits instead of std::isfinite, and no way out of the loop: so the compiler
// can look at many pixels at once.
void check_finite(const Image& image) {
  if (image.is_bytes()) return;
  constexpr uint32_t kExponent = 0x7F800000;
  uint32_t found = 0;
  for (const float value : image.floats()) found |= (std::bit_cast<uint32_t>(value) & kExponent) == kExponent ? 1U : 0U;
  if (found == 0) return;
  const auto& pixels = image.floats();
  const auto place = std::find_if(pixels.begin(), pixels.end(), [](float value) { return !std::isfinite(value); });
  const int64_t at = place - pixels.begin(), pixel = at / image.channels;
  fail("pixel (y {}, x {}) is not a number: channel {} is {}; replace NaN and infinite values in the file, or leave it out",
       pixel / image.width, pixel % image.width, at % image.channels, *place);
}

}  // namespace

FileFormat detect_format(std::span<const uint8_t> bytes) {
  TSR_CHECK(!bytes.empty(), "not an image: the file is empty (0 bytes); get it again");
  if (starts_with(bytes, "\xFF\xD8"sv)) return FileFormat::kJpeg;
  if (starts_with(bytes, "\x89PNG"sv)) return FileFormat::kPng;
  for (const std::string_view magic : {"II*\0"sv, "MM\0*"sv, "II+\0"sv, "MM\0+"sv}) {
    if (starts_with(bytes, magic)) return FileFormat::kTiff;
  }
  if (starts_with(bytes, "BM"sv)) return FileFormat::kBmp;
  if (starts_with(bytes, "RIFF"sv) && bytes.size() >= 12 && starts_with(bytes.subspan(8), "WEBP"sv)) return FileFormat::kWebp;
  for (const std::string_view magic : {"\0\0\0\x0CjP  "sv, "\xFF\x4F\xFF\x51"sv}) {
    if (starts_with(bytes, magic)) return FileFormat::kJpeg2000;
  }
  if (looks_like_npy(bytes)) return FileFormat::kNpy;
  if (looks_like_dicom(bytes)) return FileFormat::kDicom;
  fail_unknown(bytes);
}

namespace {

Raster decode_stored_values(std::span<const uint8_t> bytes, FileFormat format, const DecodeOptions& options, bool keep_words) {
  switch (format) {
    case FileFormat::kJpeg: return decode_jpeg(bytes, options.exif_orientation, options.max_pixels);
    case FileFormat::kPng: return decode_png(bytes, options.exif_orientation, options.max_pixels, keep_words);
    case FileFormat::kTiff: return decode_tiff(bytes, options.max_pixels, options.stack, keep_words);
    case FileFormat::kBmp: return decode_bmp(bytes, options.max_pixels);
    case FileFormat::kWebp: return decode_webp(bytes, options.exif_orientation, options.max_pixels);
    case FileFormat::kJpeg2000: return decode_jpeg2000(bytes, options.max_pixels);
    case FileFormat::kNpy: return decode_npy(bytes, options.max_pixels);
    case FileFormat::kDicom: return decode_dicom(bytes, options.max_pixels, options.stack);
  }
  fail("unknown image format");
}

}  // namespace

Raster decode_raster(std::span<const uint8_t> bytes, const DecodeOptions& options, bool keep_words) {
  const FileFormat format = detect_format(bytes);
  Raster raster = decode_stored_values(bytes, format, options, keep_words);
  // TIFF and DICOM have planes, and take what is chosen of them themselves.
  if (format != FileFormat::kTiff && format != FileFormat::kDicom) {
    chosen_planes(options.stack.z, 1, "z");
    chosen_planes(options.stack.t, 1, "t");
    if (!options.stack.channels.empty()) raster = choose_channels(widened(std::move(raster)), options.stack.channels);
  }
  check_finite(raster.image);
  return raster;
}

Image decode_image(std::span<const uint8_t> bytes, const DecodeOptions& options) {
  return to_channels(decode_raster(bytes, options), options.channels);
}

}  // namespace tessera
