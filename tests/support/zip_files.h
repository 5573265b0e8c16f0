#pragma once
#include <zlib.h>

#include <string_view>

#include "storage/blob.h"
#include "storage/zip_writer.h"

namespace tessera::testing {

inline std::span<const uint8_t> bytes_of(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

// A ZIP file of one deflated entry that claims to unpack to `claimed` bytes.
inline Blob deflated_zip(const std::string& name, const std::vector<uint8_t>& content, uint32_t claimed) {
  std::vector<uint8_t> packed(compressBound(content.size()) + 16);
  z_stream stream{};
  deflateInit2(&stream, 9, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = packed.data();
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  ZipWriter zip;
  zip.add(name, packed);
  std::vector<uint8_t> file = zip.finish();
  const size_t central = 30 + name.size() + packed.size();
  const auto crc = static_cast<uint32_t>(crc32_z(0, content.data(), content.size()));
  const auto put = [&](size_t at, uint32_t value, size_t length) {
    for (size_t i = 0; i < length; ++i) file[at + i] = static_cast<uint8_t>(value >> (8 * i));
  };
  put(8, 8, 2), put(14, crc, 4), put(22, claimed, 4);
  put(central + 10, 8, 2), put(central + 16, crc, 4), put(central + 24, claimed, 4);
  return own_bytes(file);
}

}  // namespace tessera::testing
