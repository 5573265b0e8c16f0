#include "kernels/pixels/input_loops.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/cpu_features.h"
#include "core/rng.h"

namespace tessera {

#ifdef __x86_64__
namespace avx2 {
extern const InputLoops kInputLoops;
}
namespace avx512 {
extern const InputLoops kInputLoops;
}
#endif

namespace {

constexpr float kMean[] = {0.485F, 0.456F, 0.406F}, kStd[] = {0.229F, 0.224F, 0.225F};

// Of all sets that the machine at hand takes.
std::vector<InputLoops> loops_here() {
  std::vector<InputLoops> found;
#ifdef __x86_64__
  if (cpu_features().avx2) found.push_back(avx2::kInputLoops);
  if (cpu_features().avx512) found.push_back(avx512::kInputLoops);
#endif
  return found;
}

std::vector<float> one_by_one(std::vector<uint8_t> pixels, const PixelColor* color) {
  std::vector<float> results;
  for (size_t i = 0; i < pixels.size(); i += 3) {
    float values[] = {static_cast<float>(pixels[i]), static_cast<float>(pixels[i + 1]), static_cast<float>(pixels[i + 2])};
    if (color != nullptr) change_color<true, 3>(values, *color);
    for (int c = 0; c < 3; ++c) results.push_back((values[c] / 255 - kMean[c]) / kStd[c]);
  }
  return results;
}

RgbScale scale_of(float max_value, const float* mean, const float* std) {
  RgbScale scale{.max_value = max_value, .inverse_max = 1 / max_value, .mean = {}, .std = {}, .inverse_std = {}};
  for (int c = 0; c < 3; ++c) {
    scale.mean[c] = mean[c];
    scale.std[c] = std[c];
    scale.inverse_std[c] = 1 / std[c];
  }
  return scale;
}

std::vector<float> scaled(const InputLoops& loops, const std::vector<uint8_t>& pixels, const PixelColor* color) {
  std::vector<float> results(pixels.size() + 1, 77);
  loops.scale_rgb(pixels.data(), results.data(), static_cast<int64_t>(pixels.size() / 3), color, scale_of(255, kMean, kStd));
  EXPECT_EQ(results.back(), 77);
  results.pop_back();
  return results;
}

// Rows of all lengths up to several vectors, with the bits of one pixel after the other.
TEST(InputLoops, RowsOfEveryLengthGetTheBitsOfSinglePixels) {
  Rng rng(1, Stream::kSynthetic);
  for (size_t count = 1; count < 200; ++count) {
    std::vector<uint8_t> pixels(3 * count);
    for (uint8_t& byte : pixels) byte = static_cast<uint8_t>(rng.below(4) == 0 ? pixels[0] : rng.bits());
    const ColorChange change{.brightness = rng.chance(0.5) ? rng.uniform(-0.5, 0.5) : 0,
                             .contrast = rng.chance(0.5) ? rng.uniform(0, 2) : 1,
                             .contrast_last = rng.chance(0.5),
                             .saturation = rng.chance(0.5) ? rng.uniform(0, 2) : 1,
                             .hue = rng.chance(0.5) ? rng.uniform(-400, 400) : 0};
    const PixelColor color = pixel_color(change, 255);
    for (const InputLoops& loops : loops_here()) {
      for (const PixelColor* const wanted : {&color, static_cast<const PixelColor*>(nullptr)}) {
        EXPECT_EQ(scaled(loops, pixels, wanted), one_by_one(pixels, wanted)) << count;
      }
    }
  }
}

// All colours there are in steps of five reds, at the angles where sectors of the colour circle meet.
TEST(InputLoops, EveryColourTurnsAlike) {
  for (const double hue : {0.0, 60.0, -60.0, 120.0, 360.0, -36.0, 17.3}) {
    const PixelColor color = pixel_color({.saturation = 1.25, .hue = hue}, 255);
    for (int red = 0; red < 256; red += 5) {
      std::vector<uint8_t> pixels;
      for (int green = 0; green < 256; green += 3) {
        for (int blue = 0; blue < 256; ++blue) {
          for (const int value : {red, green, blue}) pixels.push_back(static_cast<uint8_t>(value));
        }
      }
      const std::vector<float> expected = one_by_one(pixels, &color);
      for (const InputLoops& loops : loops_here()) ASSERT_TRUE(scaled(loops, pixels, &color) == expected) << hue << " " << red;
    }
  }
}

TEST(InputLoops, AScaleWhoseProductsAreNoQuotientsIsLeftToDivisions) {
  if (input_loops().scale_rgb == nullptr) GTEST_SKIP() << "no vectors here";
  EXPECT_TRUE(exact_rgb_scale(255, kMean, kStd).has_value());
  constexpr float kTiny[] = {1e-39F, 1e-39F, 1e-39F};  // their reciprocals are too large for a float
  EXPECT_FALSE(exact_rgb_scale(255, kMean, kTiny).has_value());
}

}  // namespace
}  // namespace tessera
