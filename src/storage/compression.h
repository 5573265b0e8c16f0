#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

// How whole files are compressed, as shards name it: "zstd", "zstd:19". The name is the ending of such files too.
struct Compression {
  enum class Kind { kBrotli, kBzip2, kGzip, kSnappy, kZstd };
  Kind kind = Kind::kZstd;
  int level = 0;
  std::string text;  // as it was written

  std::string_view extension() const;  // "br", "bz2", "gz", "snappy", "zstd"
};

// br[:0-11], bz2[:1-9], gz[:0-9], snappy or zstd[:1-22]. Throws UsageError.
Compression parse_compression(std::string_view text);

// Equal bytes for equal input.
std::vector<uint8_t> compress(const Compression& compression, std::span<const uint8_t> bytes);

// Fills `content` with what `bytes` hold. Throws Error that begins with `what` where they are damaged or hold more or less.
void decompress(Compression::Kind kind, std::span<const uint8_t> bytes, std::span<uint8_t> content, std::string_view what);

}  // namespace tessera
