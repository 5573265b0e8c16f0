#include "data/check/image_look.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

namespace tessera {
namespace {

Image deep_row(std::vector<float> values, int channels, float max_value) {
  Image image;
  image.height = 1;
  image.width = static_cast<int>(values.size()) / channels;
  image.channels = channels;
  image.max_value = max_value;
  image.pixels = std::move(values);
  return image;
}

TEST(ImageLook, PercentilesAreOrderStatistics) {
  std::vector<float> values(1001);
  std::iota(values.begin(), values.end(), 0.0F);
  EXPECT_EQ(percentile(values, 0.005), 5);
  EXPECT_EQ(percentile(values, 0.995), 995);
  EXPECT_EQ(percentile({7}, 0.995), 7);
  const ImageLook look = look_at_image("a", deep_row(values, 1, 65535));
  const ImageFacts facts = facts_of(std::vector<ImageLook>{look});
  EXPECT_EQ(facts.depth, "16-bit");
  EXPECT_EQ(facts.channels, 1);
  EXPECT_EQ(facts.low, (std::vector<double>{5}));
  EXPECT_EQ(facts.high, (std::vector<double>{995}));
  EXPECT_EQ(look.lowest, 0);
  EXPECT_EQ(look.highest, 1000);
}

// More pixels than are looked at: those that are must show the whole, whatever pattern the rows have.
TEST(ImageLook, LargeImagesAreLookedAtEverywhere) {
  const int side = 512;
  Image image(side, side, 1);
  for (int y = 0; y < side; ++y) {
    for (int x = 0; x < side; ++x)
      image.bytes()[static_cast<size_t>(y) * side + static_cast<size_t>(x)] = x % 8 == 0 ? 200 : static_cast<uint8_t>(y / 4);
  }
  const ImageLook look = look_at_image("a", image);
  EXPECT_LT(look.values[0].size(), static_cast<size_t>(side) * side);
  const auto bright = std::count(look.values[0].begin(), look.values[0].end(), 200.0F);
  EXPECT_NEAR(static_cast<double>(bright) / static_cast<double>(look.values[0].size()), 1.0 / 8, 0.01);
  EXPECT_LE(look.lowest, 1);
}

TEST(ImageLook, ThreeEqualChannelsAreGreyUnlessAnotherImageHasColours) {
  Image grey(1, 2, 3), colour(1, 2, 3);
  grey.bytes() = {5, 5, 5, 9, 9, 9};
  colour.bytes() = {5, 6, 5, 9, 9, 9};
  const ImageLook a = look_at_image("a", grey), b = look_at_image("b", colour);
  EXPECT_EQ(facts_of(std::vector<ImageLook>{a, a}).channels, 1);
  EXPECT_EQ(facts_of(std::vector<ImageLook>{a, b}).channels, 3);
  EXPECT_TRUE(facts_of(std::vector<ImageLook>{a, b}).some_grey);
  EXPECT_FALSE(facts_of(std::vector<ImageLook>{b, b}).some_grey);
  EXPECT_FALSE(facts_of(std::vector<ImageLook>{a, a}).some_grey);
  EXPECT_EQ(facts_of(std::vector<ImageLook>{a, b}).low.size(), 3U);
}

TEST(ImageLook, DifferentImagesHaveNothingInCommon) {
  const ImageLook eight = look_at_image("a", Image(1, 2, 2)), deep = look_at_image("b", deep_row({1, 2, 3}, 3, 1));
  const ImageFacts facts = facts_of(std::vector<ImageLook>{eight, deep});
  EXPECT_EQ(facts.depth, "mixed");
  EXPECT_EQ(facts.channels, 0);
  EXPECT_TRUE(facts.low.empty());
  EXPECT_FALSE(facts_of({}).known());
}

TEST(ImageLook, FactsSurviveJson) {
  const ImageFacts facts{"float", 2, {0.125, -3}, {1, 1e6}};
  const ImageFacts back = nlohmann::json::parse(nlohmann::json(facts).dump());
  EXPECT_EQ(back.depth, "float");
  EXPECT_EQ(back.channels, 2);
  EXPECT_EQ(back.low, facts.low);
  EXPECT_EQ(back.high, facts.high);
}

}  // namespace
}  // namespace tessera
