#include "data/decode/color.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

Raster one_pixel(ColorKind kind, std::vector<uint8_t> values, int bits = 8) {
  Raster raster;
  raster.image = Image(1, 1, static_cast<int>(values.size()));
  raster.image.pixels = std::move(values);
  raster.kind = kind;
  raster.bits = bits;
  return raster;
}
using Bytes = std::vector<uint8_t>;

TEST(Color, LumaIsRec601Rounded) {
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kRgb, {255, 0, 0}), 1).bytes(), (Bytes{76}));   // 76.2
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kRgb, {0, 255, 0}), 1).bytes(), (Bytes{150}));  // 149.7
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kRgba, {0, 0, 255, 9}), 1).bytes(), (Bytes{29}));
}

TEST(Color, InkTakesLightAway) {
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kCmyk, {0, 255, 51, 0}), 3).bytes(), (Bytes{255, 0, 204}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kCmyk, {0, 0, 0, 255}), 3).bytes(), (Bytes{0, 0, 0}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kCmyk, {0, 255, 51, 0}), 1).bytes(),
            (Bytes{99}));  // 99.4995 with weights in 1/65536
}

TEST(Color, LowDepthsReachWhite) {
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kGrey, {1}, 1), 1).bytes(), (Bytes{255}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kGrey, {2}, 2), 3).bytes(), (Bytes{170, 170, 170}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kGrey, {5}, 4), 1).bytes(), (Bytes{85}));
}

TEST(Color, DeepInkInItsOwnRange) {
  Raster raster = one_pixel(ColorKind::kCmyk, {0, 0, 0, 0});
  raster.image.pixels = std::vector<float>{0, 65535, 0, 32767.5F};
  raster.image.max_value = 65535;
  raster.bits = 16;
  EXPECT_EQ(to_channels(raster, 3).floats(), (std::vector<float>{32767.5F, 0, 32767.5F}));
}

TEST(Color, StacksAreNeverMixed) {
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kStack, {1, 2, 3}), 3).bytes(), (Bytes{1, 2, 3}));
  EXPECT_THROW(to_channels(one_pixel(ColorKind::kStack, {1, 2, 3}), 1), Error);
  EXPECT_THROW(to_channels(one_pixel(ColorKind::kStack, {1, 2}), 3), Error);
}

TEST(Dimensions, LimitsHoldWithoutOverflow) {
  EXPECT_NO_THROW(check_dimensions("X", 1 << 15, 1 << 15, 4, 1));
  EXPECT_THROW(check_dimensions("X", 1 << 15, (1 << 15) + 1, 1, 1), Error);
  EXPECT_THROW(check_dimensions("X", 1 << 15, 1 << 15, 2, 4), Error);
  EXPECT_THROW(check_dimensions("X", uint64_t{1} << 63, uint64_t{1} << 63, 1, 1), Error);
  EXPECT_THROW(check_dimensions("X", 0, 5, 1, 1), Error);
  EXPECT_THROW(check_dimensions("X", 5, 5, 0, 1), Error);
}

TEST(Color, ZeroAsksForWhatTheFileShows) {
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kGreyAlpha, {7, 9}), 0).bytes(), (Bytes{7}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kRgba, {1, 2, 3, 4}), 0).bytes(), (Bytes{1, 2, 3}));
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kCmyk, {0, 255, 51, 0}), 0).channels, 3);
  EXPECT_EQ(to_channels(one_pixel(ColorKind::kStack, {1, 2, 3, 4, 5}), 0).bytes(), (Bytes{1, 2, 3, 4, 5}));
}

}  // namespace
}  // namespace tessera
