#include "storage/compression.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/rng.h"

namespace tessera {
namespace {

const std::vector<std::string> kAll = {"br",   "br:0", "br:5",   "bz2",  "bz2:1",  "gz",     "gz:0",
                                       "gz:1", "gz:9", "snappy", "zstd", "zstd:1", "zstd:19"};

// Part noise, part text that repeats.
std::vector<uint8_t> some_bytes(size_t count) {
  Rng rng(7, Stream::kSynthetic);
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(i % 97 < 48 ? rng.below(256) : i % 13));
  return bytes;
}

TEST(Compression, GivesBackWhatWentIn) {
  for (const size_t count : {0UL, 1UL, 100'000UL}) {
    const std::vector<uint8_t> bytes = some_bytes(count);
    for (const std::string& text : kAll) {
      const Compression compression = parse_compression(text);
      const std::vector<uint8_t> packed = compress(compression, bytes);
      EXPECT_EQ(packed, compress(compression, bytes)) << text;
      std::vector<uint8_t> back(count, 0);
      decompress(compression.kind, packed, back, "x");
      EXPECT_EQ(back, bytes) << text;
    }
  }
}

TEST(Compression, MoreLessAndDamageAreErrors) {
  const std::vector<uint8_t> bytes = some_bytes(50'000);
  for (const std::string& text : kAll) {
    const Compression compression = parse_compression(text);
    std::vector<uint8_t> packed = compress(compression, bytes);
    std::vector<uint8_t> less(bytes.size() - 1), more(bytes.size() + 1), same(bytes.size());
    EXPECT_THROW(decompress(compression.kind, packed, less, "x"), Error) << text;
    EXPECT_THROW(decompress(compression.kind, packed, more, "x"), Error) << text;
    EXPECT_THROW(decompress(compression.kind, {}, same, "x"), Error) << text;
    packed.resize(packed.size() / 2);
    EXPECT_THROW(decompress(compression.kind, packed, same, "x"), Error) << text;
  }
}

TEST(Compression, FilesOfSeveralStreamsAreOne) {
  const std::vector<uint8_t> bytes = some_bytes(1000);
  for (const char* text : {"bz2", "gz", "zstd"}) {
    const Compression compression = parse_compression(text);
    std::vector<uint8_t> packed = compress(compression, std::span(bytes).first(400));
    const std::vector<uint8_t> rest = compress(compression, std::span(bytes).subspan(400));
    packed.insert(packed.end(), rest.begin(), rest.end());
    std::vector<uint8_t> back(bytes.size());
    decompress(compression.kind, packed, back, "x");
    EXPECT_EQ(back, bytes) << text;
  }
}

TEST(Compression, LevelsAreChecked) {
  EXPECT_EQ(parse_compression("zstd").level, 3);
  EXPECT_EQ(parse_compression("br:4").extension(), "br");
  for (const char* text : {"", "zip", "zstd:", "zstd:0", "zstd:23", "gz:10", "bz2:0", "snappy:1", "br:x", "br:1x", "br:-1"})
    EXPECT_THROW(parse_compression(text), UsageError) << text;
}

}  // namespace
}  // namespace tessera
