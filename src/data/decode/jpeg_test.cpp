#include "data/decode/jpeg.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "core/error.h"
#include "support/pillow.h"

namespace tessera {
namespace {

using testing::pillow_image;

TEST(Jpeg, SaysWhatTheChannelsMean) {
  EXPECT_EQ(decode_jpeg(pillow_image("jpeg_l"), true).kind, ColorKind::kGrey);
  EXPECT_EQ(decode_jpeg(pillow_image("jpeg_420"), true).kind, ColorKind::kRgb);
  EXPECT_EQ(decode_jpeg(pillow_image("jpeg_rgb"), true).kind, ColorKind::kRgb);
  EXPECT_EQ(decode_jpeg(pillow_image("jpeg_cmyk"), true).kind, ColorKind::kCmyk);
  EXPECT_EQ(decode_jpeg(pillow_image("jpeg_ycck"), true).kind, ColorKind::kCmyk);
}

TEST(Jpeg, InkIsStoredInvertedAndTurnedBack) {
  // Encoded from pattern(4) at quality 90: near the source only if the inversion of the file is undone.
  const Raster raster = decode_jpeg(pillow_image("jpeg_cmyk"), true);
  const Image expected = testing::pattern(4);
  double difference = 0;
  for (size_t i = 0; i < expected.count(); ++i) difference += std::abs(raster.image.bytes()[i] - expected.bytes()[i]);
  EXPECT_LT(difference / static_cast<double>(expected.count()), 8.0);
}

TEST(Jpeg, OrientationTurnsPixels) {
  const Raster stored = decode_jpeg(pillow_image("jpeg_oriented_3"), false);
  const Raster turned = decode_jpeg(pillow_image("jpeg_oriented_3"), true);
  const size_t last = stored.image.count() - 3;
  for (size_t c = 0; c < 3; ++c) EXPECT_EQ(turned.image.bytes()[c], stored.image.bytes()[last + c]);
}

// What a camera's padding does to a file, made here byte by byte: the picture is that of the file without it.
TEST(Jpeg, BytesBetweenSegmentsCostNoPixel) {
  const std::vector<uint8_t> plain = pillow_image("jpeg_422");
  const std::vector<uint8_t> expected = decode_jpeg(plain, true).image.bytes();
  for (const size_t count : {1U, 2U, 100U}) {
    std::vector<uint8_t> padded = plain;
    padded.insert(padded.end() - 2, count, 0x5A);
    EXPECT_EQ(decode_jpeg(padded, true).image.bytes(), expected) << count;
    padded.resize(padded.size() - 2);  // without the end marker it is a truncated file all the same
    EXPECT_THROW(decode_jpeg(padded, true), Error) << count;
  }
}

TEST(Jpeg, ErrorsLeaveByExceptionFromManyThreads) {
  auto file = pillow_image("jpeg_progressive");
  file.resize(file.size() / 2);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 50; ++i) EXPECT_THROW(decode_jpeg(file, true), Error);
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace tessera
