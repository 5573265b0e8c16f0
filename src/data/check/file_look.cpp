#include "data/check/file_look.h"

#include <array>
#include <utility>

#include "core/error.h"
#include "core/files.h"
#include "data/decode/decode.h"
#include "data/decode/exif.h"

namespace tessera {
namespace {

using Bytes = std::span<const uint8_t>;

std::string_view name_of_format(FileFormat format) {
  switch (format) {
    case FileFormat::kJpeg: return "JPEG";
    case FileFormat::kPng: return "PNG";
    case FileFormat::kTiff: return "TIFF";
    case FileFormat::kBmp: return "BMP";
    case FileFormat::kWebp: return "WebP";
    case FileFormat::kJpeg2000: return "JPEG 2000";
    case FileFormat::kNpy: return ".npy";
    case FileFormat::kDicom: break;
  }
  return "DICOM";
}

std::string_view format_of_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 12> kNames = {{{".jpg", "JPEG"},
                                                                                     {".jpeg", "JPEG"},
                                                                                     {".png", "PNG"},
                                                                                     {".tif", "TIFF"},
                                                                                     {".tiff", "TIFF"},
                                                                                     {".bmp", "BMP"},
                                                                                     {".webp", "WebP"},
                                                                                     {".jp2", "JPEG 2000"},
                                                                                     {".j2k", "JPEG 2000"},
                                                                                     {".jpx", "JPEG 2000"},
                                                                                     {".npy", ".npy"},
                                                                                     {".dcm", "DICOM"}}};
  const std::string low = lower(name);
  for (const auto& [ending, format] : kNames) {
    if (low.ends_with(ending)) return format;
  }
  return "";
}

uint32_t number_at(Bytes bytes, size_t at, size_t length, bool big_endian) {
  uint32_t value = 0;
  for (size_t i = 0; i < length; ++i) value = value << 8 | bytes[at + (big_endian ? i : length - 1 - i)];
  return value;
}

bool has_word(Bytes bytes, size_t at, std::string_view word) {
  for (size_t i = 0; i < word.size(); ++i) {
    if (at + i >= bytes.size() || bytes[at + i] != static_cast<uint8_t>(word[i])) return false;
  }
  return true;
}

// Marker by marker up to the compressed pixels.
void look_at_jpeg(Bytes bytes, FileLook& look) {
  constexpr size_t kComponents = 9;  // where a frame header says how many there are, from its marker on
  for (size_t at = 2; at + 4 <= bytes.size() && bytes[at] == 0xFF;) {
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xFF) {  // padding
      ++at;
      continue;
    }
    if (marker == 0xDA) return;
    const size_t length = number_at(bytes, at + 2, 2, true);
    if (length < 2 || length > bytes.size() - at - 2) return;
    const bool frame = marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
    if (frame && length >= kComponents - 1) look.cmyk = bytes[at + kComponents] == 4;
    if (marker == 0xE1 && look.orientation == 1) look.orientation = app1_orientation(bytes.subspan(at + 4, length - 2));
    at += 2 + length;
  }
}

// Chunks of a PNG: length, name, body, checksum.
void look_at_png(Bytes bytes, FileLook& look) {
  constexpr size_t kFrame = 12;
  for (size_t at = 8; at + kFrame <= bytes.size();) {
    const size_t length = number_at(bytes, at, 4, true);
    if (length > bytes.size() - at - kFrame) return;
    if (has_word(bytes, at + 4, "eXIf")) look.orientation = exif_orientation(bytes.subspan(at + 8, length));
    if (has_word(bytes, at + 4, "acTL") && length >= 4) look.animated = number_at(bytes, at + 8, 4, true) > 1;
    at += kFrame + length;
  }
}

// Chunks of a WebP: name, length, body, filled up to an even number of bytes.
void look_at_webp(Bytes bytes, FileLook& look) {
  constexpr size_t kFrame = 8;
  for (size_t at = 12; at + kFrame <= bytes.size();) {
    const size_t length = number_at(bytes, at + 4, 4, false);
    if (length > bytes.size() - at - kFrame) return;
    if (has_word(bytes, at, "EXIF")) look.orientation = exif_orientation(bytes.subspan(at + kFrame, length));
    if (has_word(bytes, at, "ANIM")) look.animated = true;
    at += kFrame + length + length % 2;
  }
}

}  // namespace

FileLook look_at_file(Bytes bytes, std::string_view name) {
  FileLook look;
  FileFormat format{};
  try {
    format = detect_format(bytes);
  } catch (const Error&) {
    return look;
  }
  look.format = name_of_format(format);
  const std::string_view said = format_of_name(name);
  if (!said.empty() && said != look.format) look.named = said;
  if (format == FileFormat::kJpeg) look_at_jpeg(bytes, look);
  if (format == FileFormat::kPng) look_at_png(bytes, look);
  if (format == FileFormat::kWebp) look_at_webp(bytes, look);
  return look;
}

}  // namespace tessera
