#include "data/check/range_notes.h"

#include <gtest/gtest.h>

#include "config/experiment.h"
#include "support/messages.h"

namespace tessera {
namespace {

// One row of values of one channel.
ImageLook look_of(const std::string& id, std::vector<float> values, float max_value) {
  Image image;
  image.height = 1;
  image.width = static_cast<int>(values.size());
  image.channels = 1;
  image.max_value = max_value;
  if (max_value == 255) {
    image.pixels = std::vector<uint8_t>(values.begin(), values.end());
  } else {
    image.pixels = std::move(values);
  }
  return look_at_image(id, image);
}

DataConfig grey_config() {
  DataConfig config;
  config.channels = 1;
  config.normalize = default_normalize(1);
  return config;
}

TEST(AutoNormalize, LeavesPhotographsAlone) {
  const ImageFacts bytes{"8-bit", 1, {0}, {200}};
  NormalizeConfig expected = default_normalize(1);
  expected.mode = NormalizeMode::kFixed;
  EXPECT_EQ(decided_normalize(grey_config(), bytes), expected);
  EXPECT_EQ(decided_normalize(grey_config(), {}), expected);  // nothing could be read
}

TEST(AutoNormalize, TakesPercentilesOfDeepImagesAndStacks) {
  const NormalizeConfig deep = decided_normalize(grey_config(), {"16-bit", 1, {100}, {4000}});
  EXPECT_EQ(deep.mode, NormalizeMode::kRange);
  EXPECT_EQ(deep.low_value, (std::vector<double>{100}));
  EXPECT_EQ(deep.high_value, (std::vector<double>{4000}));
  EXPECT_EQ(deep.mean, default_normalize(1).mean);
  EXPECT_EQ(decided_normalize(grey_config(), {"float", 1, {-1}, {1}}).mode, NormalizeMode::kRange);
  DataConfig stack = grey_config();
  stack.channels = 2;
  const NormalizeConfig two = decided_normalize(stack, {"8-bit", 2, {0, 10}, {255, 10}});
  EXPECT_EQ(two.mode, NormalizeMode::kRange);
  EXPECT_EQ(two.high_value, (std::vector<double>{255, 11}));  // a channel of one value
}

TEST(AutoNormalize, WhoSetsSomethingKeepsIt) {
  const ImageFacts deep{"16-bit", 1, {100}, {4000}};
  DataConfig measured = grey_config();
  measured.normalize.mean = {0.025};
  EXPECT_EQ(decided_normalize(measured, deep).mode, NormalizeMode::kFixed);
  for (const NormalizeMode mode : {NormalizeMode::kFixed, NormalizeMode::kPerImage, NormalizeMode::kPercentile}) {
    DataConfig asked = grey_config();
    asked.normalize.mode = mode;
    EXPECT_EQ(decided_normalize(asked, deep), asked.normalize);
  }
  EXPECT_EQ(decided_normalize(grey_config(), {"mixed", 1, {}, {}}).mode, NormalizeMode::kFixed);
}

TEST(RangeNotes, SaySoWhereFixedLeavesNoContrast) {
  NormalizeConfig fixed = default_normalize(1);
  fixed.mode = NormalizeMode::kFixed;
  const std::vector<ImageLook> deep{look_of("a", {96, 1000, 4012}, 65535)};
  const auto notes = range_notes(deep, fixed);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_CONTAINS(notes[0], "16-bit, grey, values 96 to 4012 (12 of 16 bits)");
  EXPECT_CONTAINS(notes[0], "almost one value");
  EXPECT_CONTAINS(notes[0], "data.normalize.mode=range 'data.normalize.low_value=[96]' 'data.normalize.high_value=[1000]'");
  NormalizeConfig range = fixed;
  range.mode = NormalizeMode::kRange;
  EXPECT_TRUE(range_notes(deep, range).empty());
  NormalizeConfig measured = fixed;  // as `data stats` prints them
  measured.mean = {0.025};
  measured.std = {0.01};
  EXPECT_TRUE(range_notes(deep, measured).empty());
}

TEST(RangeNotes, FloatsFarFromZeroAreNamed) {
  NormalizeConfig fixed = default_normalize(1);
  fixed.mode = NormalizeMode::kFixed;
  const auto notes = range_notes(std::vector<ImageLook>{look_of("a", {0, 2000, 4095, 4095}, 1)}, fixed);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_CONTAINS(notes[0], "float, grey, values 0 to 4095");
  EXPECT_CONTAINS(notes[0], "far from 0");
  EXPECT_TRUE(range_notes(std::vector<ImageLook>{look_of("a", {0, 0.5, 1, 1}, 1)}, fixed).empty());
}

TEST(RangeNotes, OddImagesAmongOthersAreNamed) {
  NormalizeConfig range = default_normalize(1);
  range.mode = NormalizeMode::kRange;
  const std::vector<ImageLook> some{look_of("a", {0, 1000, 4000}, 65535), look_of("flat", {7, 7, 7}, 65535),
                                    look_of("night", {1, 2, 3}, 65535)};
  const auto notes = range_notes(some, range);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_CONTAINS(notes[0], "1 of 3 images looked at (first: flat) have one value everywhere");
  EXPECT_CONTAINS(notes[1], "1 of 3 images looked at (first: night) are nearly black beside the others");
  const std::vector<ImageLook> mixed{look_of("a", {0, 100, 200}, 255), look_of("b", {0, 100, 200}, 65535)};
  ASSERT_EQ(range_notes(mixed, range).size(), 1U);
  EXPECT_CONTAINS(range_notes(mixed, range)[0], "different depths: 1 16-bit (first: b), 1 8-bit (first: a)");
}

}  // namespace
}  // namespace tessera
