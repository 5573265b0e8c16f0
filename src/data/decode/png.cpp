#include "data/decode/png.h"

#include <spng.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <memory>
#include <string_view>

#include "core/error.h"
#include "data/decode/exif.h"
#include "data/decode/orient.h"
#include "data/decode/plain_png.h"
#include "data/decode/unpack.h"

namespace tessera {
namespace {

using Context = std::unique_ptr<spng_ctx, decltype(&spng_ctx_free)>;

// Deflate cannot shrink anything further than this, so a header that promises more pixels is forged or the file is cut.
constexpr uint64_t kMaxDeflateRatio = 1032;
constexpr size_t kSignatureSize = 8;
constexpr size_t kChunkFrame = 12;  // length, type and checksum around a chunk's body
constexpr size_t kChecksum = 4;     // the part of it behind the body
// Text and profiles larger than this are not worth their memory.
constexpr size_t kMaxChunk = size_t{64} << 20;

void check(int code, const char* where, size_t file_size) {
  if (code == 0) return;
  switch (code) {
    case SPNG_IO_EOF:
    case SPNG_EOF: fail("PNG is truncated: its {} bytes end in the {}; get it again", file_size, where);
    case SPNG_EIDAT_TOO_SHORT: fail("PNG is truncated: there is less pixel data than the header promises; get it again");
    case SPNG_ECHUNK_CRC: fail("PNG is corrupt: a checksum in the {} does not match (CRC); get it again", where);
    case SPNG_EMEM: fail("PNG cannot be decoded: out of memory");
    default: fail("PNG is corrupt: {} (in the {}); get it again", spng_strerror(code), where);
  }
}

// Walks the chunks up to IEND without looking inside. spng stops at the last pixel and would not miss the rest. Returns the
// body of the eXIf chunk, empty without one: spng keeps to itself the ones that are not written by the letter.
std::span<const uint8_t> check_complete(std::span<const uint8_t> bytes) {
  std::span<const uint8_t> exif;
  std::string_view inside = "signature";
  size_t at = kSignatureSize;
  while (at + kChunkFrame <= bytes.size()) {
    const uint8_t* chunk = bytes.data() + at;
    const size_t length = size_t{chunk[0]} << 24 | size_t{chunk[1]} << 16 | size_t{chunk[2]} << 8 | chunk[3];
    inside = std::string_view(reinterpret_cast<const char*>(chunk) + 4, 4);
    if (length > bytes.size() - at - kChunkFrame) break;
    if (inside == "IEND") return exif;
    if (inside == "eXIf") exif = bytes.subspan(at + kChunkFrame - kChecksum, length);
    at += kChunkFrame + length;
  }
  const bool named =
      std::all_of(inside.begin(), inside.end(), [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; });
  fail("PNG is truncated: its {} bytes end in or after the {} chunk, before IEND; get it again", bytes.size(),
       named ? inside : "damaged");
}

ColorKind kind_of(uint8_t color_type) {
  switch (color_type) {
    case SPNG_COLOR_TYPE_GRAYSCALE: return ColorKind::kGrey;
    case SPNG_COLOR_TYPE_GRAYSCALE_ALPHA: return ColorKind::kGreyAlpha;
    case SPNG_COLOR_TYPE_INDEXED: return ColorKind::kPalette;
    case SPNG_COLOR_TYPE_TRUECOLOR: return ColorKind::kRgb;
    default: return ColorKind::kRgba;
  }
}

int channels_of(ColorKind kind) {
  switch (kind) {
    case ColorKind::kGreyAlpha: return 2;
    case ColorKind::kRgb: return 3;
    case ColorKind::kRgba: return 4;
    default: return 1;
  }
}

std::vector<Color> read_palette(spng_ctx* png, size_t file_size) {
  spng_plte table{};
  check(spng_get_plte(png, &table), "palette", file_size);
  std::vector<Color> palette(table.n_entries);
  for (size_t i = 0; i < palette.size(); ++i)
    palette[i] = {table.entries[i].red, table.entries[i].green, table.entries[i].blue};
  return palette;
}

// The rows as spng hands them out: packed bits, or host-order 16-bit values.
void store_pixels(Raster& raster, std::vector<uint8_t> packed) {
  Image& image = raster.image;
  if (raster.bits == 8) {
    image.pixels = std::move(packed);
  } else if (raster.bits == 16) {
    std::vector<float> values(image.count());
    for (size_t i = 0; i < values.size(); ++i) {
      uint16_t value = 0;
      std::memcpy(&value, packed.data() + 2 * i, sizeof value);
      values[i] = value;
    }
    image.pixels = std::move(values);
    image.max_value = 65535.0F;
  } else {
    std::vector<uint8_t> values(image.count());
    const auto width = static_cast<size_t>(image.width);
    const size_t stride = packed.size() / static_cast<size_t>(image.height);
    for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
      unpack_bits({packed.data() + y * stride, stride}, raster.bits, {values.data() + y * width, width});
    }
    image.pixels = std::move(values);
  }
}

}  // namespace

Raster decode_png(std::span<const uint8_t> bytes, bool obey_exif, uint64_t max_pixels, bool keep_words) {
  if (auto plain = decode_plain_png(bytes, max_pixels)) return *std::move(plain);
  return decode_any_png(bytes, obey_exif, max_pixels, keep_words);
}

Raster decode_any_png(std::span<const uint8_t> bytes, bool obey_exif, uint64_t max_pixels, bool keep_words) {
  const Context png(spng_ctx_new(0), spng_ctx_free);
  TSR_CHECK(png != nullptr, "PNG cannot be decoded: out of memory");
  spng_set_chunk_limits(png.get(), kMaxChunk, kMaxChunk);
  const std::span<const uint8_t> exif = check_complete(bytes);
  check(spng_set_png_buffer(png.get(), bytes.data(), bytes.size()), "header", bytes.size());

  spng_ihdr header{};
  const int header_code = spng_get_ihdr(png.get(), &header);
  TSR_CHECK(header_code != SPNG_EWIDTH && header_code != SPNG_EHEIGHT,
            "PNG says a width or height of 0 or above 2^31: expected at least 1 and 2^30 pixels in all; the file is damaged");
  check(header_code, "header", bytes.size());
  // Up to the pixels: this also checks the header's own checksum, before its sizes are believed.
  check(spng_decode_chunks(png.get()), "header", bytes.size());

  Raster raster;
  raster.kind = kind_of(header.color_type);
  raster.bits = header.bit_depth;
  const int channels = channels_of(raster.kind);
  const int orientation = obey_exif ? exif_orientation(exif) : 1;
  const bool as_words = keep_words && header.bit_depth == 16 && orientation == 1;
  check_dimensions("PNG", header.width, header.height, static_cast<uint64_t>(channels),
                   header.bit_depth < 16 ? 1
                   : as_words            ? 2
                                         : 4,
                   max_pixels);
  raster.image.height = static_cast<int>(header.height);
  raster.image.width = static_cast<int>(header.width);
  raster.image.channels = channels;

  size_t size = 0;
  check(spng_decoded_image_size(png.get(), SPNG_FMT_PNG, &size), "header", bytes.size());
  TSR_CHECK(size / kMaxDeflateRatio <= bytes.size(),
            "PNG is truncated: it says {} x {} pixels, which {} bytes cannot hold; get it again", header.width, header.height,
            bytes.size());
  std::vector<uint8_t> packed(as_words ? 0 : size);
  if (as_words) raster.words.resize(raster.image.count());
  void* const to = as_words ? static_cast<void*>(raster.words.data()) : packed.data();
  check(spng_decode_image(png.get(), to, size, SPNG_FMT_PNG, 0), "pixel data", bytes.size());
  check(spng_decode_chunks(png.get()), "chunks after the pixels", bytes.size());
  if (raster.kind == ColorKind::kPalette) raster.palette = read_palette(png.get(), bytes.size());
  if (as_words) {
    raster.image.max_value = 65535.0F;
    return raster;
  }
  store_pixels(raster, std::move(packed));
  if (orientation != 1) raster.image = orient(raster.image, orientation);
  return raster;
}

}  // namespace tessera
