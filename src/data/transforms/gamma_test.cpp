#include "data/transforms/gamma.h"

#include <gtest/gtest.h>

#include "support/messages.h"
#include "support/pillow.h"
#include "support/samples.h"

namespace tessera {
namespace {

TEST(Gamma, BytesAreThoseOfScikitImage) {
  for (const auto& entry : testing::load_fixture("augmentations/gamma.json").at("bytes")) {
    Image image = testing::pattern(3);
    change_gamma(image, entry.at("gamma"));
    EXPECT_EQ(image.bytes(), testing::numbers<uint8_t>(entry.at("pixels")));
  }
}

TEST(Gamma, DeepImagesKeepTheirDarkestAndBrightestValue) {
  Image image(1, 3, 1);
  image.pixels = std::vector<float>{100, 200, 500};  // shares 0, 1/4 and 1
  image.max_value = 65535;
  change_gamma(image, 0.5);
  EXPECT_EQ(image.floats(), (std::vector<float>{100, 300, 500}));
  image.pixels = std::vector<float>{7, 7, 7};
  change_gamma(image, 0.5);
  EXPECT_EQ(image.floats(), (std::vector<float>{7, 7, 7}));
}

TEST(Gamma, BrightensAndDarkensAlikeAndLeavesLabels) {
  int brighter = 0;
  for (uint64_t n = 0; n < 400; ++n) {
    Sample sample = testing::numbered_sample({2, 2});
    sample.image.bytes().assign(sample.image.count(), 64);
    Gamma(GammaConfig{.min = 0.5, .max = 2, .probability = 1}).apply(sample, testing::test_rng(n));
    brighter += sample.image.bytes()[0] > 64 ? 1 : 0;
    ASSERT_EQ(sample.labels->labels, testing::numbered_sample({2, 2}).labels->labels);
  }
  EXPECT_NEAR(brighter, 200, 40);
}

TEST(Gamma, SwappedBoundsAreAMistake) {
  EXPECT_CONTAINS(testing::message_of([] { Gamma(GammaConfig{.min = 2, .max = 1}); }), "gamma: min is 2, larger than max 1");
}

}  // namespace
}  // namespace tessera
