#include "storage/compression.h"

#include <brotli/decode.h>
#include <brotli/encode.h>
#include <bzlib.h>
#include <fmt/ranges.h>
#include <libdeflate.h>
#include <snappy-c.h>
#include <zstd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <memory>
#include <optional>

#include "core/error.h"

namespace tessera {
namespace {

struct Family {
  std::string_view name;
  Compression::Kind kind;
  int low, high, usual;  // levels
};
constexpr std::array<Family, 5> kFamilies = {{{"br", Compression::Kind::kBrotli, 0, 11, 11},
                                              {"bz2", Compression::Kind::kBzip2, 1, 9, 9},
                                              {"gz", Compression::Kind::kGzip, 0, 9, 9},
                                              {"snappy", Compression::Kind::kSnappy, 0, 0, 0},
                                              {"zstd", Compression::Kind::kZstd, 1, 22, 3}}};

// Never null: libbz2 refuses that also where there is nothing to read.
const char* text_of(std::span<const uint8_t> bytes) {
  return bytes.empty() ? "" : reinterpret_cast<const char*>(bytes.data());
}

// libbz2 counts in 32 bits and takes what it reads as if it could write to it.
std::vector<uint8_t> bzip2(std::span<const uint8_t> bytes, int level) {
  constexpr size_t kExtra = 600, kShare = 100;  // by which incompressible input grows at most, as libbz2 documents it
  std::vector<uint8_t> out(bytes.size() + bytes.size() / kShare + kExtra);
  TSR_CHECK(out.size() <= std::numeric_limits<unsigned>::max(), "bz2 compresses files below 4 GB, this one has {} bytes",
            bytes.size());
  auto length = static_cast<unsigned>(out.size());
  const int code = BZ2_bzBuffToBuffCompress(reinterpret_cast<char*>(out.data()), &length, const_cast<char*>(text_of(bytes)),
                                            static_cast<unsigned>(bytes.size()), level, 0, 0);
  TSR_CHECK(code == BZ_OK, "bz2 failed to compress {} bytes ({})", bytes.size(), code);
  out.resize(length);
  return out;
}

std::vector<uint8_t> gzip(std::span<const uint8_t> bytes, int level) {
  const std::unique_ptr<libdeflate_compressor, decltype(&libdeflate_free_compressor)> with(libdeflate_alloc_compressor(level),
                                                                                           libdeflate_free_compressor);
  TSR_CHECK(with != nullptr, "no memory to compress with gz:{}", level);
  std::vector<uint8_t> out(libdeflate_gzip_compress_bound(with.get(), bytes.size()));
  out.resize(libdeflate_gzip_compress(with.get(), bytes.data(), bytes.size(), out.data(), out.size()));
  TSR_CHECK(!out.empty(), "gz failed to compress {} bytes", bytes.size());
  return out;
}

std::vector<uint8_t> brotli(std::span<const uint8_t> bytes, int level) {
  size_t length = BrotliEncoderMaxCompressedSize(bytes.size());
  std::vector<uint8_t> out(length);
  TSR_CHECK(BrotliEncoderCompress(level, BROTLI_DEFAULT_WINDOW, BROTLI_MODE_GENERIC, bytes.size(), bytes.data(), &length,
                                  out.data()) == BROTLI_TRUE,
            "br failed to compress {} bytes", bytes.size());
  out.resize(length);
  return out;
}

std::vector<uint8_t> snappy(std::span<const uint8_t> bytes) {
  size_t length = snappy_max_compressed_length(bytes.size());
  std::vector<uint8_t> out(length);
  TSR_CHECK(snappy_compress(text_of(bytes), bytes.size(), reinterpret_cast<char*>(out.data()), &length) == SNAPPY_OK,
            "snappy failed to compress {} bytes", bytes.size());
  out.resize(length);
  return out;
}

std::vector<uint8_t> zstd(std::span<const uint8_t> bytes, int level) {
  std::vector<uint8_t> out(ZSTD_compressBound(bytes.size()));
  const size_t length = ZSTD_compress(out.data(), out.size(), bytes.data(), bytes.size(), level);
  TSR_CHECK(ZSTD_isError(length) == 0, "zstd failed to compress {} bytes: {}", bytes.size(), ZSTD_getErrorName(length));
  out.resize(length);
  return out;
}

// The functions below return how many bytes came out, nothing where the input is damaged or holds more than fits.
using Count = std::optional<size_t>;

Count unbzip2(std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  constexpr size_t kMost = std::numeric_limits<unsigned>::max();
  size_t done = 0;
  while (!bytes.empty()) {  // a file may hold several streams
    bz_stream stream{};
    if (BZ2_bzDecompressInit(&stream, 0, 0) != BZ_OK) return std::nullopt;
    stream.next_in = const_cast<char*>(text_of(bytes));
    stream.avail_in = static_cast<unsigned>(std::min(bytes.size(), kMost));
    stream.next_out = reinterpret_cast<char*>(content.data() + done);
    stream.avail_out = static_cast<unsigned>(std::min(content.size() - done, kMost));
    const unsigned in = stream.avail_in, out = stream.avail_out;
    int code = BZ_OK;
    unsigned left_in = 0, left_out = 0;
    do {
      left_in = stream.avail_in, left_out = stream.avail_out;
      code = BZ2_bzDecompress(&stream);
    } while (code == BZ_OK && (stream.avail_in != left_in || stream.avail_out != left_out));
    const size_t taken = in - stream.avail_in;
    done += out - stream.avail_out;
    BZ2_bzDecompressEnd(&stream);
    if (code != BZ_STREAM_END) return std::nullopt;
    bytes = bytes.subspan(taken);
  }
  return done;
}

Count ungzip(std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  const std::unique_ptr<libdeflate_decompressor, decltype(&libdeflate_free_decompressor)> with(libdeflate_alloc_decompressor(),
                                                                                               libdeflate_free_decompressor);
  TSR_CHECK(with != nullptr, "no memory to decompress gz");
  size_t done = 0;
  while (!bytes.empty()) {  // a file may hold several members
    size_t in = 0, out = 0;
    const auto code = libdeflate_gzip_decompress_ex(with.get(), bytes.data(), bytes.size(), content.data() + done,
                                                    content.size() - done, &in, &out);
    if (code != LIBDEFLATE_SUCCESS) return std::nullopt;
    bytes = bytes.subspan(in);
    done += out;
  }
  return done;
}

Count unbrotli(std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  size_t length = content.size();
  const auto code = BrotliDecoderDecompress(bytes.size(), bytes.data(), &length, content.data());
  return code == BROTLI_DECODER_RESULT_SUCCESS ? Count(length) : std::nullopt;
}

Count unsnappy(std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  size_t length = 0;
  if (snappy_uncompressed_length(text_of(bytes), bytes.size(), &length) != SNAPPY_OK || length > content.size())
    return std::nullopt;
  length = content.size();
  const auto code = snappy_uncompress(text_of(bytes), bytes.size(), reinterpret_cast<char*>(content.data()), &length);
  return code == SNAPPY_OK ? Count(length) : std::nullopt;
}

Count unzstd(std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  const size_t length = ZSTD_decompress(content.data(), content.size(), bytes.data(), bytes.size());
  return ZSTD_isError(length) == 0 ? Count(length) : std::nullopt;
}

Count uncompressed(Compression::Kind kind, std::span<const uint8_t> bytes, std::span<uint8_t> content) {
  switch (kind) {
    case Compression::Kind::kBrotli: return unbrotli(bytes, content);
    case Compression::Kind::kBzip2: return unbzip2(bytes, content);
    case Compression::Kind::kGzip: return ungzip(bytes, content);
    case Compression::Kind::kSnappy: return unsnappy(bytes, content);
    case Compression::Kind::kZstd: break;
  }
  return unzstd(bytes, content);
}

}  // namespace

std::string_view Compression::extension() const {
  return std::string_view(text).substr(0, text.find(':'));
}

Compression parse_compression(std::string_view text) {
  const size_t colon = text.find(':');
  const std::string_view name = text.substr(0, colon);
  const auto* const family =
      std::find_if(kFamilies.begin(), kFamilies.end(), [&](const Family& one) { return one.name == name; });
  TSR_CHECK_USAGE(family != kFamilies.end(), "no compression is called '{}'; expected br, bz2, gz, snappy or zstd", name);
  if (colon == std::string_view::npos) return {family->kind, family->usual, std::string(text)};
  const std::string_view number = text.substr(colon + 1);
  int level = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), level);
  const bool whole = error == std::errc() && end == number.data() + number.size() && number != "-0";
  TSR_CHECK_USAGE(family->low < family->high, "{} has no levels; leave ':{}' out", name, number);
  TSR_CHECK_USAGE(whole && level >= family->low && level <= family->high, "the level of {} is '{}', expected {} to {}", name,
                  number, family->low, family->high);
  return {family->kind, level, std::string(text)};
}

std::vector<uint8_t> compress(const Compression& compression, std::span<const uint8_t> bytes) {
  switch (compression.kind) {
    case Compression::Kind::kBrotli: return brotli(bytes, compression.level);
    case Compression::Kind::kBzip2: return bzip2(bytes, compression.level);
    case Compression::Kind::kGzip: return gzip(bytes, compression.level);
    case Compression::Kind::kSnappy: return snappy(bytes);
    case Compression::Kind::kZstd: break;
  }
  return zstd(bytes, compression.level);
}

void decompress(Compression::Kind kind, std::span<const uint8_t> bytes, std::span<uint8_t> content, std::string_view what) {
  const Count length = uncompressed(kind, bytes, content);
  TSR_CHECK(length.has_value(), "{} is damaged: it does not unpack to {} bytes as it should; get it again", what,
            content.size());
  TSR_CHECK(*length == content.size(), "{} is damaged: it unpacks to {} bytes, expected {}; get it again", what, *length,
            content.size());
}

}  // namespace tessera
