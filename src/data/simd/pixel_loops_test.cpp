#include "data/simd/pixel_loops.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "core/cpu_features.h"
#include "core/image.h"
#include "core/rng.h"

namespace tessera {

namespace baseline {
extern const PixelLoops kPixelLoops;
}
#ifdef __x86_64__
namespace avx2 {
extern const PixelLoops kPixelLoops;
}
namespace avx512 {
extern const PixelLoops kPixelLoops;
}
#endif

namespace {

// Of all sets that the machine at hand takes.
std::vector<PixelLoops> loops_here() {
  std::vector<PixelLoops> found = {pixel_loops()};
#ifdef __x86_64__
  if (cpu_features().avx2) found.push_back(avx2::kPixelLoops);
  if (cpu_features().avx512) found.push_back(avx512::kPixelLoops);
#endif
  return found;
}

using Bytes = std::vector<uint8_t>;

Bytes random_bytes(size_t count, Rng& rng) {
  Bytes bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(rng.bits());
  return bytes;
}

// Weights that sum to 2^22.
std::vector<TapPair> random_taps(int pairs, Rng& rng) {
  std::vector<TapPair> taps(static_cast<size_t>(pairs));
  int left = 1 << 22;
  for (int k = 0; k < 2 * pairs; ++k) {
    const int weight = k + 1 == 2 * pairs ? left : static_cast<int>(rng.below(static_cast<uint32_t>(left) + 1));
    left -= weight;
    taps[static_cast<size_t>(k / 2)].low[k % 2] = static_cast<int16_t>(weight & ((1 << kLowWeightBits) - 1));
    taps[static_cast<size_t>(k / 2)].high[k % 2] = static_cast<int16_t>(weight >> kLowWeightBits);
  }
  return taps;
}

// What the machine at hand takes, beside what every machine can do.
TEST(PixelLoops, RowsOfEveryLengthAreResizedAlike) {
  Rng rng(1, Stream::kSynthetic);
  for (int count = 1; count < 40; ++count) {
    const int pairs = 1 + static_cast<int>(rng.below(4));
    const Bytes from = random_bytes(3000, rng);
    std::vector<int32_t> offsets;
    std::vector<TapPair> taps;
    const int whole = (count + kTapGroup - 1) / kTapGroup * kTapGroup;
    taps.resize(static_cast<size_t>(whole * pairs));
    for (int x = 0; x < whole; ++x) {
      offsets.push_back(static_cast<int32_t>(3 * rng.below(900)));
      const std::vector<TapPair> own = random_taps(pairs, rng);
      for (int k = 0; k < pairs; ++k) taps[static_cast<size_t>(tap_place(x, k, pairs))] = own[static_cast<size_t>(k)];
    }
    const Bytes empty(static_cast<size_t>(count) * 3 + kWriteBeyond);
    Bytes expected = empty;
    baseline::kPixelLoops.resize_rgb_row(from.data(), expected.data(), offsets.data(), taps.data(), count, pairs);
    expected.resize(static_cast<size_t>(count) * 3);
    for (const PixelLoops& loops : loops_here()) {
      Bytes got = empty;
      loops.resize_rgb_row(from.data(), got.data(), offsets.data(), taps.data(), count, pairs);
      got.resize(expected.size());
      EXPECT_EQ(got, expected) << count;
    }
  }
}

TEST(PixelLoops, RowsAreSummedAlike) {
  Rng rng(2, Stream::kSynthetic);
  for (size_t count = 1; count < 80; ++count) {
    const int pairs = 1 + static_cast<int>(rng.below(4));
    std::vector<Bytes> rows;
    std::vector<const uint8_t*> pointers;
    for (int k = 0; k < 2 * pairs; ++k) rows.push_back(random_bytes(count, rng));
    for (const Bytes& row : rows) pointers.push_back(row.data());
    const std::vector<TapPair> taps = random_taps(pairs, rng);
    Bytes expected(count + 1, 77);
    baseline::kPixelLoops.sum_rows(pointers.data(), expected.data(), taps.data(), pairs, count);
    for (const PixelLoops& loops : loops_here()) {
      Bytes got(count + 1, 77);
      loops.sum_rows(pointers.data(), got.data(), taps.data(), pairs, count);
      EXPECT_EQ(got, expected) << count;
      EXPECT_EQ(got.back(), 77);
    }
  }
}

TEST(PixelLoops, WhiteStaysWhite) {
  const Bytes row(64, 255);
  const uint8_t* rows[] = {row.data(), row.data(), row.data(), row.data()};
  Rng rng(3, Stream::kSynthetic);
  for (int round = 0; round < 100; ++round) {
    const std::vector<TapPair> taps = random_taps(2, rng);
    for (const PixelLoops& loops : loops_here()) {
      Bytes to(64);
      loops.sum_rows(rows, to.data(), taps.data(), 2, 64);
      EXPECT_EQ(to, row);
    }
  }
}

// Every byte of an RGB cube with steps, under many changes: the rounding of one float would show.
TEST(PixelLoops, ColoursChangeAlike) {
  Rng rng(4, Stream::kSynthetic);
  for (int round = 0; round < 300; ++round) {
    const ColorChange change{.brightness = rng.chance(0.5) ? rng.uniform(-0.5, 0.5) : 0,
                             .contrast = rng.chance(0.5) ? rng.uniform(0, 2) : 1,
                             .contrast_last = rng.chance(0.5),
                             .saturation = rng.chance(0.5) ? rng.uniform(0, 2) : 1,
                             .hue = rng.chance(0.5) ? rng.uniform(-400, 400) : 0};
    const PixelColor color = pixel_color(change, 255);
    Bytes pixels = random_bytes(3 * (1 + rng.below(3000)), rng);
    for (int grey = 0; grey + 3 <= static_cast<int>(pixels.size()) && grey < 90; grey += 9) {
      pixels[static_cast<size_t>(grey) + 1] = pixels[static_cast<size_t>(grey)];
    }
    Bytes expected = pixels;
    baseline::kPixelLoops.change_rgb(expected.data(), expected.size() / 3, color);
    for (const PixelLoops& loops : loops_here()) {
      Bytes got = pixels;
      loops.change_rgb(got.data(), got.size() / 3, color);
      EXPECT_TRUE(got == expected) << round;
    }
  }
}

// All colours there are, at the angles where sectors of the colour circle meet.
TEST(PixelLoops, EveryColourTurnsAlike) {
  for (const double hue : {0.0, 60.0, -60.0, 120.0, 360.0, -36.0, 17.3}) {
    const PixelColor color = pixel_color({.saturation = 1.25, .hue = hue}, 255);
    for (int red = 0; red < 256; red += 5) {
      Bytes pixels;
      for (int green = 0; green < 256; green += 3) {
        for (int blue = 0; blue < 256; ++blue) {
          for (const int value : {red, green, blue}) pixels.push_back(static_cast<uint8_t>(value));
        }
      }
      Bytes expected = pixels;
      baseline::kPixelLoops.change_rgb(expected.data(), expected.size() / 3, color);
      for (const PixelLoops& loops : loops_here()) {
        Bytes got = pixels;
        loops.change_rgb(got.data(), got.size() / 3, color);
        ASSERT_TRUE(got == expected) << hue << " " << red;
      }
    }
  }
}

TEST(PixelLoops, FiltersAreUndone) {
  Rng rng(5, Stream::kSynthetic);
  for (size_t count = 1; count < 100; ++count) {
    for (const size_t unit : {1U, 2U, 3U, 4U}) {
      const Bytes left = random_bytes(count * unit, rng), above = random_bytes(count * unit, rng);
      Bytes expected = left;
      for (size_t i = unit; i < expected.size(); ++i) expected[i] = static_cast<uint8_t>(expected[i] + expected[i - unit]);
      Bytes both = expected;
      for (size_t i = 0; i < both.size(); ++i) both[i] = static_cast<uint8_t>(both[i] + above[i]);
      for (const PixelLoops& loops : loops_here()) {
        Bytes got = left;
        loops.add_left(got.data(), got.size(), unit);
        EXPECT_EQ(got, expected);
        loops.add_row(got.data(), above.data(), got.size());
        EXPECT_EQ(got, both);
      }
    }
  }
}

}  // namespace
}  // namespace tessera
