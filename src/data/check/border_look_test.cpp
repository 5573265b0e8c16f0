#include "data/check/border_look.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

namespace tessera {
namespace {

RawMask drawn(int side, const std::function<int32_t(int y, int x)>& value) {
  RawMask mask;
  mask.height = mask.width = side;
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x) mask.values.push_back(value(y, x));
  }
  return mask;
}

bool inside(double y, double x) {
  return (y - 16) * (y - 16) + (x - 14) * (x - 14) < 81;
}

// A disc of `top` on 0 that was made larger with bilinear weights, as images are.
RawMask enlarged(int32_t top, int factor) {
  return drawn(32 * factor, [&](int y, int x) {
    const double v = (y + 0.5) / factor - 0.5, u = (x + 0.5) / factor - 0.5;
    const double y0 = std::floor(v), x0 = std::floor(u), b = v - y0, a = u - x0;
    const auto at = [&](double row, double column) { return inside(row, column) ? top : 0.0; };
    return static_cast<int32_t>(std::lround((1 - b) * ((1 - a) * at(y0, x0) + a * at(y0, x0 + 1)) +
                                            b * ((1 - a) * at(y0 + 1, x0) + a * at(y0 + 1, x0 + 1))));
  });
}

TEST(BorderLook, AMaskThatWasResizedAsAPhotoShowsRamps) {
  for (const int32_t top : {255, 5, 3}) {
    for (const int factor : {2, 3, 5}) {
      const BorderLook look = look_at_borders(enlarged(top, factor));
      EXPECT_TRUE(look.interpolated) << top << " x " << factor << ": " << look.ramps << " of " << look.borders;
    }
  }
}

TEST(BorderLook, DrawnMasksShowNone) {
  const RawMask binary = drawn(64, [](int y, int x) { return inside(y / 2.0, x / 2.0) ? 255 : 0; });
  EXPECT_FALSE(look_at_borders(binary).computed());
  // A rim of a class of its own, two pixels thin, between two others.
  const RawMask rim = drawn(64, [](int y, int x) {
    const double r = std::hypot(y - 32, x - 32);
    return r < 18 ? 5 : r < 20 ? 2 : 0;
  });
  EXPECT_FALSE(look_at_borders(rim).computed());
  // Objects numbered one by one, small ones too.
  const RawMask objects =
      drawn(128, [](int y, int x) { return std::hypot(y % 8 - 4, x % 8 - 4) < 3 ? 1 + (y / 8) * 16 + x / 8 : 0; });
  EXPECT_FALSE(look_at_borders(objects).computed());
  EXPECT_FALSE(look_at_borders(drawn(32, [](int, int) { return 7; })).computed());
  EXPECT_FALSE(look_at_borders(drawn(1, [](int, int) { return 7; })).computed());
}

TEST(BorderLook, SpecksOfManyValuesAreWhatJpegLeaves) {
  const RawMask noisy = drawn(64, [](int y, int x) {
    const bool object = inside(y / 2.0, x / 2.0), near = std::abs(std::hypot(y - 32, x - 28) - 18) < 5;
    const int32_t noise = near ? (y * 31 + x * 17) % 13 : 0;
    return object ? 255 - noise : noise;
  });
  const BorderLook look = look_at_borders(noisy);
  EXPECT_TRUE(look.noisy) << look.specks << " specks, " << look.distinct << " values";
}

TEST(BorderLook, MarksThePixelsInBetween) {
  const RawMask mask = drawn(16, [](int, int x) { return x < 8 ? 0 : x == 8 ? 90 : x == 9 ? 170 : 255; });
  const std::vector<bool> marked = computed_pixels(mask);
  EXPECT_EQ(std::count(marked.begin(), marked.end(), true), 32);
  EXPECT_TRUE(marked[8] && marked[9] && !marked[7] && !marked[10]);
}

}  // namespace
}  // namespace tessera
