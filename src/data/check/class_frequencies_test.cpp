#include "data/check/class_frequencies.h"

#include <gtest/gtest.h>

#include "support/fixed_dataset.h"

namespace tessera {
namespace {

// Three images of 100 labelled pixels: class 0 has 90 and 100 and 50 of them, class 1 10 and 0 and 50, class 2 none.
ClassFrequencies three_images() {
  ClassFrequencies counts(3);
  counts.add({90, 10, 0}, 100);
  counts.add({100, 0, 0}, 100);
  counts.add({50, 50, 0}, 100);
  return counts;
}

TEST(ClassFrequencies, CountsPixelsImagesAndWhatIsLabelledThere) {
  const ClassFrequencies counts = three_images();
  EXPECT_EQ(counts.pixels, (std::vector<int64_t>{240, 60, 0}));
  EXPECT_EQ(counts.images, (std::vector<int64_t>{3, 2, 0}));
  EXPECT_EQ(counts.labelled_where_seen, (std::vector<int64_t>{300, 200, 0}));
  EXPECT_EQ(counts.labelled, 300);
}

TEST(ClassFrequencies, OfADataSetAreThoseOfItsCheck) {
  const testing::FixedDataset data({testing::row_sample("x", {0, 255, 255, 0}, {0, 1, 1, -1}), testing::bad_sample("y"),
                                    testing::row_sample("z", {255, 0}, {0, 0})});
  for (const int threads : {1, 3}) {
    const ClassFrequencies counts = frequencies_of(count_sample_classes(data, threads), 3);
    EXPECT_EQ(counts.pixels, (std::vector<int64_t>{3, 2, 0}));
    EXPECT_EQ(counts.images, (std::vector<int64_t>{2, 1, 0}));
    EXPECT_EQ(counts.labelled_where_seen, (std::vector<int64_t>{5, 3, 0}));
    EXPECT_EQ(counts.unusable, 1);
  }
}

// Frequencies 240 / 300 and 60 / 200; their median lies between them.
TEST(ClassWeights, MedianFrequency) {
  const auto weights = weights_by(MedianFrequency{}, three_images());
  EXPECT_DOUBLE_EQ(weights[0], 0.55 / 0.8);
  EXPECT_DOUBLE_EQ(weights[1], 0.55 / 0.3);
  EXPECT_EQ(weights[2], 1);
}

TEST(ClassWeights, InverseIsScikitLearnsBalanced) {
  EXPECT_EQ(weights_by(InverseFrequency{}, three_images()), (std::vector<double>{300.0 / (2 * 240), 300.0 / (2 * 60), 1}));
}

// 1 / (1 + 0.5 + 0.25) and 1 / (1 + 0.5), to the mean 1.
TEST(ClassWeights, EffectiveNumberOfImages) {
  EffectiveNumber method;
  method.beta = 0.5;
  const auto weights = weights_by(method, three_images());
  EXPECT_DOUBLE_EQ(weights[0], 2 * (1 / 1.75) / (1 / 1.75 + 1 / 1.5));
  EXPECT_DOUBLE_EQ(weights[1], 2 * (1 / 1.5) / (1 / 1.75 + 1 / 1.5));
  EXPECT_EQ(weights[2], 1);
  method.beta = 0;
  EXPECT_EQ(weights_by(method, three_images()), (std::vector<double>{1, 1, 1}));
}

}  // namespace
}  // namespace tessera
