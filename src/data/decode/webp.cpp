#include "data/decode/webp.h"

#include <webp/decode.h>

#include <cstring>

#include "core/error.h"
#include "data/decode/exif.h"
#include "data/decode/orient.h"

namespace tessera {
namespace {

constexpr int kLossless = 2;  // of WebPBitstreamFeatures::format

void check(VP8StatusCode code, const char* where, size_t file_size) {
  switch (code) {
    case VP8_STATUS_OK: return;
    case VP8_STATUS_NOT_ENOUGH_DATA:
    case VP8_STATUS_SUSPENDED: fail("WebP is truncated: its {} bytes end in the {}; get it again", file_size, where);
    case VP8_STATUS_OUT_OF_MEMORY: fail("WebP cannot be decoded: out of memory");
    default: fail("WebP is corrupt: its {} cannot be read (error {}); get it again", where, static_cast<int>(code));
  }
}

WebPBitstreamFeatures features_of(std::span<const uint8_t> bytes) {
  WebPBitstreamFeatures features{};
  check(WebPGetFeatures(bytes.data(), bytes.size(), &features), "header", bytes.size());
  TSR_CHECK(features.has_animation == 0, "WebP is an animation: expected one picture; convert it to PNG");
  return features;
}

// The body of the EXIF chunk; empty without one. Chunks are padded to even lengths.
std::span<const uint8_t> find_exif(std::span<const uint8_t> bytes) {
  constexpr size_t kRiffHeader = 12, kChunkHeader = 8;
  for (size_t at = kRiffHeader; at + kChunkHeader <= bytes.size();) {
    uint32_t length = 0;
    std::memcpy(&length, bytes.data() + at + 4, sizeof length);
    const auto body = bytes.subspan(at + kChunkHeader);
    if (length > body.size()) return {};
    if (std::memcmp(bytes.data() + at, "EXIF", 4) == 0) return body.first(length);
    at += kChunkHeader + length + length % 2;
  }
  return {};
}

}  // namespace

bool is_lossless_webp(std::span<const uint8_t> bytes) {
  return features_of(bytes).format == kLossless;
}

Raster decode_webp(std::span<const uint8_t> bytes, bool obey_exif, uint64_t max_pixels) {
  WebPDecoderConfig config;
  TSR_CHECK(WebPInitDecoderConfig(&config) != 0, "WebP cannot be decoded: the library is of another version");
  config.input = features_of(bytes);
  const int channels = config.input.has_alpha != 0 ? 4 : 3;
  check_dimensions("WebP", static_cast<uint64_t>(config.input.width), static_cast<uint64_t>(config.input.height),
                   static_cast<uint64_t>(channels), 1, max_pixels);
  Raster raster;
  raster.kind = channels == 4 ? ColorKind::kRgba : ColorKind::kRgb;
  raster.image = Image(config.input.height, config.input.width, channels);
  std::vector<uint8_t>& out = raster.image.bytes();
  config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
  config.output.is_external_memory = 1;
  config.output.u.RGBA = {out.data(), config.input.width * channels, out.size()};
  const VP8StatusCode code = WebPDecode(bytes.data(), bytes.size(), &config);
  WebPFreeDecBuffer(&config.output);
  check(code, "pixels", bytes.size());
  const int orientation = obey_exif ? exif_orientation(find_exif(bytes)) : 1;
  if (orientation != 1) raster.image = orient(raster.image, orientation);
  return raster;
}

}  // namespace tessera
