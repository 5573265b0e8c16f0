#include "data/decode/plain_png.h"

#include <libdeflate.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "data/decode/png_filters.h"

namespace tessera {
namespace {

constexpr std::array<uint8_t, 8> kSignature = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
constexpr size_t kChunkFrame = 12;  // length, type and checksum around a chunk's body
constexpr size_t kHeaderSize = 13;
constexpr size_t kMostColors = 256;
// Deflate cannot shrink anything further than this.
constexpr uint64_t kMaxDeflateRatio = 1032;
// A thread keeps its memory up to this.
constexpr size_t kMostKeptBytes = size_t{16} << 20;

uint32_t number(const uint8_t* at) {
  return uint32_t{at[0]} << 24 | uint32_t{at[1]} << 16 | uint32_t{at[2]} << 8 | at[3];
}

struct Chunk {
  std::string_view type;
  std::span<const uint8_t> body;
};

// The chunk at `at`, which moves behind it; nothing where there is none, or its checksum is wrong.
std::optional<Chunk> next_chunk(std::span<const uint8_t> bytes, size_t& at) {
  if (bytes.size() - at < kChunkFrame) return std::nullopt;
  const uint8_t* const chunk = bytes.data() + at;
  const size_t length = number(chunk);
  if (length > bytes.size() - at - kChunkFrame) return std::nullopt;
  if (libdeflate_crc32(0, chunk + 4, length + 4) != number(chunk + 8 + length)) return std::nullopt;
  at += kChunkFrame + length;
  return Chunk{{reinterpret_cast<const char*>(chunk) + 4, 4}, {chunk + 8, length}};
}

struct Parts {
  std::span<const uint8_t> header, palette;
  std::vector<std::span<const uint8_t>> pixels;
  size_t pixel_bytes = 0;
};

std::optional<Parts> find_parts(std::span<const uint8_t> bytes) {
  if (bytes.size() < kSignature.size() || !std::equal(kSignature.begin(), kSignature.end(), bytes.begin())) return std::nullopt;
  size_t at = kSignature.size();
  Parts parts;
  while (const std::optional<Chunk> chunk = next_chunk(bytes, at)) {
    const bool first = parts.header.empty();
    if (first != (chunk->type == "IHDR")) return std::nullopt;
    if (chunk->type == "IHDR") {
      if (chunk->body.size() != kHeaderSize) return std::nullopt;
      parts.header = chunk->body;
    } else if (chunk->type == "PLTE") {
      if (!parts.palette.empty() || !parts.pixels.empty() || chunk->body.empty()) return std::nullopt;
      parts.palette = chunk->body;
    } else if (chunk->type == "IDAT") {
      parts.pixels.push_back(chunk->body);
      parts.pixel_bytes += chunk->body.size();
    } else if (chunk->type == "IEND" && chunk->body.empty() && !parts.pixels.empty()) {
      return parts;
    } else {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// The kind of colours and how many bytes a pixel has.
std::optional<std::pair<ColorKind, int>> kind_of(uint8_t color_type) {
  switch (color_type) {
    case 0: return std::pair{ColorKind::kGrey, 1};
    case 2: return std::pair{ColorKind::kRgb, 3};
    case 3: return std::pair{ColorKind::kPalette, 1};
    case 4: return std::pair{ColorKind::kGreyAlpha, 2};
    case 6: return std::pair{ColorKind::kRgba, 4};
    default: return std::nullopt;
  }
}

// The compressed bytes in one piece.
std::span<const uint8_t> joined(const Parts& parts, std::vector<uint8_t>& memory) {
  if (parts.pixels.size() == 1) return parts.pixels[0];
  memory.clear();
  memory.reserve(parts.pixel_bytes);
  for (const auto& piece : parts.pixels) memory.insert(memory.end(), piece.begin(), piece.end());
  return memory;
}

bool inflate_all(std::span<const uint8_t> from, std::vector<uint8_t>& to) {
  struct Free {
    void operator()(libdeflate_decompressor* decompressor) const { libdeflate_free_decompressor(decompressor); }
  };
  thread_local const std::unique_ptr<libdeflate_decompressor, Free> decompressor(libdeflate_alloc_decompressor());
  if (!decompressor) return false;
  size_t taken = 0;  // bytes behind the stream are unusual
  const auto result =
      libdeflate_zlib_decompress_ex(decompressor.get(), from.data(), from.size(), to.data(), to.size(), &taken, nullptr);
  return result == LIBDEFLATE_SUCCESS && taken == from.size();
}

}  // namespace

std::optional<Raster> decode_plain_png(std::span<const uint8_t> bytes, uint64_t max_pixels) {
  const std::optional<Parts> parts = find_parts(bytes);
  if (!parts) return std::nullopt;
  const std::span<const uint8_t> header = parts->header;
  const uint64_t width = number(header.data()), height = number(header.data() + 4);
  const auto kind = kind_of(header[9]);
  const bool plain = header[8] == 8 && header[10] == 0 && header[11] == 0 && header[12] == 0;
  if (!plain || !kind || width == 0 || height == 0 || width > kMaxPixels / height || width * height > max_pixels)
    return std::nullopt;
  const size_t colors = parts->palette.size() / 3;
  if (parts->palette.size() % 3 != 0 || colors > kMostColors || (kind->first == ColorKind::kPalette) != (colors > 0))
    return std::nullopt;
  const size_t unit = static_cast<size_t>(kind->second), stride = width * unit, size = height * (stride + 1);
  if (size > kMaxDecodedBytes || size / kMaxDeflateRatio > bytes.size()) return std::nullopt;

  thread_local std::vector<uint8_t> compressed, rows;
  rows.resize(size);
  const bool whole = inflate_all(joined(*parts, compressed), rows);
  std::optional<Raster> raster;
  if (whole) {
    raster.emplace();
    raster->kind = kind->first;
    raster->image = Image(static_cast<int>(height), static_cast<int>(width), kind->second);
    for (size_t i = 0; i < colors; ++i) {
      raster->palette.push_back({parts->palette[3 * i], parts->palette[3 * i + 1], parts->palette[3 * i + 2]});
    }
    const std::vector<uint8_t> zeros(stride);
    const uint8_t* above = zeros.data();
    for (size_t y = 0; y < height; ++y) {
      const uint8_t* const from = rows.data() + y * (stride + 1);
      uint8_t* const row = raster->image.bytes().data() + y * stride;
      std::memcpy(row, from + 1, stride);
      if (!undo_png_filter(from[0], row, above, stride, unit)) {
        raster.reset();
        break;
      }
      above = row;
    }
  }
  for (std::vector<uint8_t>* memory : {&compressed, &rows}) {
    if (memory->capacity() > kMostKeptBytes) *memory = {};
  }
  return raster;
}

}  // namespace tessera
