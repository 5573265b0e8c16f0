#include "data/simd/jpeg_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <vector>

#include "core/cpu_features.h"
#include "core/rng.h"

namespace tessera {

#ifdef __x86_64__
namespace avx2 {
extern const JpegLoops kJpegLoops;
}
namespace avx512 {
extern const JpegLoops kJpegLoops;
}

namespace {

// What jpeg_window_test.cpp compares with libjpeg are the loops that this processor takes; the others give the same.
#define TSR_NEED_BOTH_SETS() \
  if (!cpu_features().avx512) GTEST_SKIP() << "needs AVX-512"

using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t count, Rng& rng) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.bits());
  return bytes;
}

// Coefficients of every size, so that sums overflow in some blocks, and in others none does.
TEST(JpegLoops, BlocksBecomeTheSamePixels) {
  TSR_NEED_BOTH_SETS();
  Rng rng(1, Stream::kSynthetic);
  for (int round = 0; round < 3000; ++round) {
    const int count = 1 + static_cast<int>(rng.below(9));
    const uint32_t most = 1U << rng.below(16);
    std::vector<int16_t> blocks(static_cast<size_t>(count + kBlocksAtOnce - 1) * kBlockValues);
    for (int i = 0; i < count * kBlockValues; ++i) {
      if (rng.chance(0.3))
        blocks[static_cast<size_t>(i)] = static_cast<int16_t>(static_cast<int>(rng.below(2 * most)) - static_cast<int>(most));
    }
    std::vector<uint16_t> quantizers(kBlockValues);
    for (uint16_t& quantizer : quantizers) quantizer = static_cast<uint16_t>(1 + rng.below(40));
    const size_t width = static_cast<size_t>(count) * 8, stride = width + 8 * kBlocksAtOnce;
    std::array<Bytes, 2> pixels;
    std::array<bool, 2> usual{};
    for (size_t i = 0; i < 2; ++i) {
      pixels[i].resize(8 * stride);
      const JpegLoops& loops = i == 0 ? avx2::kJpegLoops : avx512::kJpegLoops;
      usual[i] = loops.make_pixels(blocks.data(), quantizers.data(), count, pixels[i].data(), stride);
      for (size_t y = 0; y < 8; ++y)
        std::fill_n(pixels[i].begin() + static_cast<ptrdiff_t>(y * stride + width), stride - width, uint8_t{0});
    }
    ASSERT_EQ(usual[0], usual[1]);
    ASSERT_TRUE(pixels[0] == pixels[1]);
  }
}

TEST(JpegLoops, RowsAreTheSame) {
  TSR_NEED_BOTH_SETS();
  Rng rng(2, Stream::kSynthetic);
  for (size_t count = 1; count < 150; ++count) {
    const auto row = [&] { return random_bytes(count + 2 * kPixelsAtOnce, rng); };
    const Bytes a = row(), b = row(), c = row();
    std::array<std::array<Bytes, 3>, 2> results;
    for (size_t i = 0; i < 2; ++i) {
      const JpegLoops& loops = i == 0 ? avx2::kJpegLoops : avx512::kJpegLoops;
      auto& [one, two, rgb] = results[i];
      for (Bytes* doubled : {&one, &two}) doubled->resize(2 * count + kPixelsAtOnce);
      loops.double_row(a.data() + 1, one.data(), count);
      loops.double_between(a.data() + 1, b.data() + 1, two.data(), count);
      for (Bytes* doubled : {&one, &two}) doubled->resize(2 * count);
      rgb.assign(3 * count + 1, 77);
      loops.rgb_row(a.data(), b.data(), c.data(), rgb.data(), count);
      EXPECT_EQ(rgb.back(), 77);
    }
    ASSERT_TRUE(results[0] == results[1]) << count;
  }
}

#undef TSR_NEED_BOTH_SETS

}  // namespace
#endif

}  // namespace tessera
