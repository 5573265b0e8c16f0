#include "data/transforms/elastic.h"

#include <gtest/gtest.h>

#include "support/pillow.h"
#include "support/samples.h"

namespace tessera {
namespace {

std::vector<ImagePoint> same_everywhere(int cells, ImagePoint point) {
  return std::vector<ImagePoint>(static_cast<size_t>((cells + 3) * (cells + 3)), point);
}

// scipy's splines for the field, its linear interpolation for the image.
TEST(Elastic, ImagesAndLabelsAreThoseOfScipy) {
  for (const auto& entry : testing::load_fixture("augmentations/elastic.json").at("cases")) {
    Sample sample;
    sample.image = testing::pattern(1, 23, 31);
    const std::vector<uint8_t> bytes = sample.image.bytes();
    sample.image.pixels = std::vector<float>(bytes.begin(), bytes.end());
    sample.labels = LabelMap(23, 31);
    for (size_t i = 0; i < bytes.size(); ++i) sample.labels->labels[i] = static_cast<int16_t>(bytes[i] % 5);
    const auto dy = entry.at("dy").get<std::vector<double>>(), dx = entry.at("dx").get<std::vector<double>>();
    std::vector<ImagePoint> displacements;
    for (size_t i = 0; i < dy.size(); ++i) displacements.push_back({dy[i], dx[i]});
    warp_sample(sample, ElasticField({23, 31}, entry.at("cells"), displacements), {});
    const auto expected = entry.at("pixels").get<std::vector<double>>();
    ASSERT_EQ(expected.size(), sample.image.count());
    for (size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(sample.image.floats()[i], expected[i], 255e-6) << i;
    EXPECT_EQ(sample.labels->labels, testing::numbers<int16_t>(entry.at("labels")));
  }
}

TEST(Elastic, ControlPointsThatMoveAlikeShiftTheImage) {
  const Sample before = testing::numbered_sample({9, 11});
  Sample sample = before;
  warp_sample(sample, ElasticField({9, 11}, 3, same_everywhere(3, {2, -1})), {});
  EXPECT_EQ(testing::pixel(sample.image, 3, 4), testing::pixel(before.image, 5, 3));
  EXPECT_EQ(sample.labels->at(3, 4), before.labels->at(5, 3));
  EXPECT_EQ(sample.labels->at(8, 4), kIgnoreLabel);  // from below the image
  EXPECT_EQ(sample.labels->at(3, 0), kIgnoreLabel);
  EXPECT_FALSE(sample.placement.complete);
}

TEST(Elastic, OneRowOrColumnIsBentToo) {
  for (const Size size : {Size{1, 8}, Size{8, 1}, Size{1, 1}}) {
    Sample sample = testing::numbered_sample(size);
    Elastic(ElasticConfig{.probability = 1}).apply(sample, testing::test_rng());
    EXPECT_EQ(sample.image.size(), size);
  }
}

}  // namespace
}  // namespace tessera
