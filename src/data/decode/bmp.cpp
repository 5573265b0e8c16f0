#include "data/decode/bmp.h"

#include <bit>
#include <cstdlib>

#include "core/byte_reader.h"
#include "core/error.h"
#include "data/decode/unpack.h"

namespace tessera {
namespace {

constexpr uint32_t kFileHeader = 14;
constexpr uint32_t kCoreHeader = 12;  // of OS/2: 16-bit sizes, palettes of three bytes an entry
constexpr uint32_t kInfoHeader = 40;
constexpr uint32_t kPlain = 0, kBitFields = 3, kAlphaBitFields = 6;  // of the field "compression"

struct BmpHeader {
  int64_t width = 0, height = 0;
  bool from_above = false;
  int bits = 0;
  std::vector<Color> palette;
  std::array<int, 4> byte_of{2, 1, 0, -1};  // of 24 and 32 bits: where in a pixel red, green, blue and alpha lie; -1: nowhere
  uint32_t pixels_at = 0;
};

// Masks of whole bytes, as everybody writes them.
int byte_of_mask(uint32_t mask) {
  if (mask == 0) return -1;
  const int shift = std::countr_zero(mask);
  TSR_CHECK(shift % 8 == 0 && mask >> shift == 0xFF, "BMP has the colour mask {:08X}: expected 8 bits; convert it to PNG",
            mask);
  return shift / 8;
}

void read_masks(ByteReader& in, uint32_t size, uint32_t compression, BmpHeader& header) {
  const bool with_alpha = size > kInfoHeader + 12 || compression == kAlphaBitFields;
  for (size_t i = 0; i < (with_alpha ? 4U : 3U); ++i) header.byte_of[i] = byte_of_mask(in.number<uint32_t>());
  TSR_CHECK(header.byte_of[0] >= 0 && header.byte_of[1] >= 0 && header.byte_of[2] >= 0,
            "BMP has no mask for one of its colours; the file is damaged");
}

void read_palette(ByteReader& in, uint32_t colors, bool core, BmpHeader& header) {
  const uint32_t most = 1U << header.bits;
  if (colors == 0 || colors > most) colors = most;
  for (uint32_t i = 0; i < colors; ++i) {
    const auto bgr = in.take(3);
    if (!core) in.skip(1);
    header.palette.push_back({bgr[2], bgr[1], bgr[0]});
  }
}

BmpHeader read_header(std::span<const uint8_t> bytes) {
  ByteReader in(bytes, "BMP");
  BmpHeader header;
  in.skip(10);
  header.pixels_at = in.number<uint32_t>();
  const auto size = in.number<uint32_t>();
  const bool core = size == kCoreHeader;
  TSR_CHECK(core || (size >= kInfoHeader && size <= 256),
            "BMP has a header of {} bytes: expected 12 or 40 to 256; it is damaged", size);
  header.width = core ? in.number<uint16_t>() : in.number<int32_t>();
  header.height = core ? in.number<uint16_t>() : in.number<int32_t>();
  header.from_above = header.height < 0;
  header.height = std::abs(header.height);
  in.skip(2);
  header.bits = in.number<uint16_t>();
  const uint32_t compression = core ? kPlain : in.number<uint32_t>();
  const bool fields = compression == kBitFields || compression == kAlphaBitFields;
  const bool known = header.bits == 1 || header.bits == 4 || header.bits == 8 || header.bits == 24 || header.bits == 32;
  TSR_CHECK(
      known && (compression == kPlain || (fields && header.bits == 32)),
      "BMP has {} bits a pixel with compression {}: expected uncompressed pixels of 1, 4, 8, 24 or 32 bits; convert it to PNG",
      header.bits, compression);
  if (!core) in.skip(12);
  const uint32_t colors = core ? 0 : in.number<uint32_t>();
  if (!core) in.skip(4);
  if (fields) read_masks(in, size, compression, header);
  const size_t end = kFileHeader + size + (fields && size == kInfoHeader ? 12U : 0U);
  if (in.position() < end) in.skip(end - in.position());
  if (header.bits <= 8) read_palette(in, colors, core, header);
  return header;
}

bool is_grey_ramp(const std::vector<Color>& palette, int bits) {
  const auto top = (1U << bits) - 1;
  for (uint32_t i = 0; i < palette.size(); ++i) {
    const auto level = static_cast<uint8_t>(i * 255 / top);
    if (palette[i] != Color{level, level, level}) return false;
  }
  return palette.size() == size_t{top} + 1;
}

void store_row(std::span<const uint8_t> row, const BmpHeader& header, std::span<uint8_t> to) {
  if (header.bits <= 8) return unpack_bits(row, header.bits, to);
  const auto step = static_cast<size_t>(header.bits) / 8;
  const size_t channels = header.byte_of[3] < 0 ? 3 : 4;
  for (size_t x = 0; x < to.size() / channels; ++x) {
    for (size_t c = 0; c < channels; ++c) to[x * channels + c] = row[x * step + static_cast<size_t>(header.byte_of[c])];
  }
}

}  // namespace

Raster decode_bmp(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  BmpHeader header = read_header(bytes);
  const int channels = header.bits <= 8 ? 1 : header.byte_of[3] < 0 ? 3 : 4;
  check_dimensions("BMP", static_cast<uint64_t>(std::max<int64_t>(header.width, 0)), static_cast<uint64_t>(header.height),
                   static_cast<uint64_t>(channels), 1, max_pixels);
  const auto width = static_cast<size_t>(header.width), height = static_cast<size_t>(header.height);
  const size_t stride = (width * static_cast<size_t>(header.bits) + 31) / 32 * 4;
  TSR_CHECK(header.pixels_at <= bytes.size() && height <= (bytes.size() - header.pixels_at) / stride,
            "BMP is truncated: it says {} x {} pixels of {} bits, which its {} bytes do not hold; get it again", width, height,
            header.bits, bytes.size());
  Raster raster;
  raster.image = Image(static_cast<int>(height), static_cast<int>(width), channels);
  raster.bits = header.bits <= 8 ? header.bits : 8;
  raster.kind = channels == 4 ? ColorKind::kRgba : channels == 3 ? ColorKind::kRgb : ColorKind::kPalette;
  if (channels == 1 && is_grey_ramp(header.palette, header.bits)) raster.kind = ColorKind::kGrey;
  const std::span<uint8_t> out = raster.image.bytes();
  const size_t row_size = width * static_cast<size_t>(channels);
  for (size_t y = 0; y < height; ++y) {
    const auto row = bytes.subspan(header.pixels_at + (header.from_above ? y : height - 1 - y) * stride, stride);
    store_row(row, header, out.subspan(y * row_size, row_size));
  }
  if (raster.kind == ColorKind::kPalette) raster.palette = std::move(header.palette);
  return raster;
}

}  // namespace tessera
