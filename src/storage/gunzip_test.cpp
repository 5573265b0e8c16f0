#include "storage/gunzip.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include "core/error.h"
#include "support/messages.h"

namespace tessera {
namespace {

constexpr int kGzip = MAX_WBITS + 16, kZlib = MAX_WBITS;

std::vector<uint8_t> packed(const std::vector<uint8_t>& content, int window) {
  z_stream stream{};
  deflateInit2(&stream, 6, Z_DEFLATED, window, 8, Z_DEFAULT_STRATEGY);
  std::vector<uint8_t> out(deflateBound(&stream, content.size()));
  stream.next_in = const_cast<uint8_t*>(content.data());
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = out.data();
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

std::vector<uint8_t> noise(size_t size) {
  std::vector<uint8_t> bytes(size);
  uint32_t state = 1;
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>((state = state * 1664525U + 1013904223U) >> 24);
  return bytes;
}

TEST(Gunzip, UnpacksBothFormatsAndSeveralStreamsInARow) {
  const std::vector<uint8_t> content = noise(100'000);
  for (const int window : {kGzip, kZlib}) {
    const std::vector<uint8_t> file = packed(content, window);
    EXPECT_EQ(looks_like_gzip(file), window == kGzip);
    EXPECT_EQ(looks_like_zlib(file), window == kZlib);
    EXPECT_EQ(gunzip(file, "f"), content);
  }
  std::vector<uint8_t> two = packed({1, 2}, kGzip);
  const std::vector<uint8_t> second = packed({3}, kGzip);
  two.insert(two.end(), second.begin(), second.end());
  EXPECT_EQ(gunzip(two, "f"), (std::vector<uint8_t>{1, 2, 3}));
  EXPECT_EQ(gunzip(packed(std::vector<uint8_t>(1 << 20, 7), kGzip), "f").size(), size_t{1} << 20);
}

TEST(Gunzip, CutAndChangedFilesAreRefused) {
  const std::vector<uint8_t> file = packed(noise(300), kGzip);
  for (size_t size = 0; size < file.size(); ++size) {
    EXPECT_CONTAINS(testing::message_of([&] { gunzip(std::span(file).first(size), "shard.gz"); }), "shard.gz is truncated");
  }
  std::vector<uint8_t> changed = file;
  changed[file.size() - 6] ^= 1;  // of the checksum
  EXPECT_CONTAINS(testing::message_of([&] { gunzip(changed, "shard.gz"); }), "incorrect data check");
}

TEST(Gunzip, ASmallFileOfManyZerosIsRefused) {
  const std::vector<uint8_t> file = packed(std::vector<uint8_t>(size_t{100} << 20), kGzip);
  ASSERT_LT(file.size(), 200'000U);
  EXPECT_CONTAINS(testing::message_of([&] { gunzip(file, "shard.gz"); }), "it is not trusted");
}

}  // namespace
}  // namespace tessera
