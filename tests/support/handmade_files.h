#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

// PNG and TIFF files written byte by byte, for the kinds no library writes: the odd ones and the broken ones.
namespace tessera::testing {

using Bytes = std::vector<uint8_t>;

inline void append(Bytes& to, const Bytes& more) {
  to.insert(to.end(), more.begin(), more.end());
}

inline Bytes big_endian(uint32_t value) {
  return {static_cast<uint8_t>(value >> 24), static_cast<uint8_t>(value >> 16), static_cast<uint8_t>(value >> 8),
          static_cast<uint8_t>(value)};
}

inline uint32_t crc32(const Bytes& bytes) {
  uint32_t crc = ~0U;
  for (const uint8_t byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ ((crc & 1) != 0 ? 0xEDB88320U : 0U);
  }
  return ~crc;
}

inline Bytes png_chunk(std::string_view type, const Bytes& body) {
  Bytes named(type.begin(), type.end());
  append(named, body);
  Bytes chunk = big_endian(static_cast<uint32_t>(body.size()));
  append(chunk, named);
  append(chunk, big_endian(crc32(named)));
  return chunk;
}

// A zlib stream that stores (up to 65535 bytes) instead of compressing.
inline Bytes zlib_stored(const Bytes& body) {
  const auto size = static_cast<uint16_t>(body.size());
  Bytes stream = {0x78,
                  0x01,
                  0x01,
                  static_cast<uint8_t>(size),
                  static_cast<uint8_t>(size >> 8),
                  static_cast<uint8_t>(~size),
                  static_cast<uint8_t>(~size >> 8)};
  append(stream, body);
  uint32_t a = 1;
  uint32_t b = 0;
  for (const uint8_t byte : body) a = (a + byte) % 65521, b = (b + a) % 65521;
  append(stream, big_endian(b << 16 | a));
  return stream;
}

inline Bytes png_signature() {
  return {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
}

inline Bytes png_header(uint32_t width, uint32_t height, uint8_t depth, uint8_t color) {
  Bytes body = big_endian(width);
  append(body, big_endian(height));
  append(body, {depth, color, 0, 0, 0});
  return png_chunk("IHDR", body);
}

// `rows`: each with its filter byte in front. `extra`: chunks before the pixels, e.g. a palette.
inline Bytes handmade_png(const Bytes& header, const Bytes& rows, const Bytes& extra = {}) {
  Bytes file = png_signature();
  append(file, header);
  append(file, extra);
  append(file, png_chunk("IDAT", zlib_stored(rows)));
  append(file, png_chunk("IEND", {}));
  return file;
}

// An uncompressed little-endian TIFF of one page. Tags are 32-bit numbers; lists of them lie after the directory.
struct HandmadeTiff {
  std::vector<std::pair<uint16_t, std::vector<uint32_t>>> tags;  // in rising order
  std::vector<Bytes> blocks;                                     // strips or tiles; their offsets and sizes are filled in
  uint32_t next_directory = 0;
  bool tiled = false;

  void set(uint16_t tag, std::vector<uint32_t> values) {
    auto at = tags.begin();
    while (at != tags.end() && at->first < tag) ++at;
    if (at != tags.end() && at->first == tag) {
      at->second = std::move(values);
    } else {
      tags.insert(at, {tag, std::move(values)});
    }
  }

  Bytes file() const {
    HandmadeTiff full = *this;
    Bytes out = {'I', 'I', 42, 0, 0, 0, 0, 0};
    std::vector<uint32_t> offsets;
    std::vector<uint32_t> sizes;
    for (const Bytes& block : blocks) {
      offsets.push_back(static_cast<uint32_t>(out.size()));
      sizes.push_back(static_cast<uint32_t>(block.size()));
      append(out, block);
      if (out.size() % 2 != 0) out.push_back(0);
    }
    if (!blocks.empty()) full.set(tiled ? 324 : 273, offsets), full.set(tiled ? 325 : 279, sizes);
    const size_t directory = out.size();
    put(out, 4, static_cast<uint32_t>(directory), 4);
    out.resize(directory + 2 + 12 * full.tags.size() + 4);
    put(out, directory, static_cast<uint32_t>(full.tags.size()), 2);
    size_t entry = directory + 2;
    for (const auto& [tag, values] : full.tags) {
      put(out, entry, tag, 2);
      put(out, entry + 2, 4, 2);  // LONG
      put(out, entry + 4, static_cast<uint32_t>(values.size()), 4);
      put(out, entry + 8, values.size() == 1 ? values[0] : static_cast<uint32_t>(out.size()), 4);
      if (values.size() > 1) {
        for (const uint32_t value : values) out.resize(out.size() + 4), put(out, out.size() - 4, value, 4);
      }
      entry += 12;
    }
    put(out, entry, next_directory, 4);
    return out;
  }

  static void put(Bytes& out, size_t at, uint32_t value, size_t length) {
    for (size_t i = 0; i < length; ++i) out[at + i] = static_cast<uint8_t>(value >> (8 * i));
  }
};

// Tags: 256 width, 257 height, 258 bits, 259 compression, 262 photometric, 277 samples, 278 rows per strip, 284 planar,
// 322/323 tile width and height, 339 sample format.
inline HandmadeTiff grey_tiff(uint32_t width, uint32_t height, uint32_t bits, std::vector<Bytes> blocks) {
  HandmadeTiff tiff;
  tiff.tags = {{256, {width}}, {257, {height}}, {258, {bits}}, {259, {1}}, {262, {1}}, {277, {1}}, {278, {height}}};
  tiff.blocks = std::move(blocks);
  return tiff;
}

}  // namespace tessera::testing
