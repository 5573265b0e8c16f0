#include "data/check/data_check.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

#include "data/datasets/synthetic.h"
#include "support/fixed_dataset.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

TEST(DataCheck, WhateverGoesWrongWithOneSampleIsItsFault) {
  const DataReport report =
      check_dataset(FixedDataset({bad_sample("too large"), bad_sample("odd"), row_sample("z", {255, 0}, {0, 0})}), 2, {});
  ASSERT_EQ(report.faults.size(), 2U);
  EXPECT_EQ(report.faults[0].id, "too large");
  EXPECT_NE(report.faults[0].reason.find("not enough memory"), std::string::npos);
  EXPECT_EQ(report.faults[1].reason, "not foreseen");
  EXPECT_EQ(report.images.size(), 1U);
}

TEST(DataCheck, CountsWorkedOutByHand) {
  const FixedDataset data(
      {row_sample("x", {0, 255, 255, 0}, {0, 1, 1, -1}), bad_sample("y"), row_sample("z", {255, 0}, {0, 0})});
  const DataReport report = check_dataset(data, 2, {});
  EXPECT_EQ(report.checked, 3);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0].id, "y");
  EXPECT_EQ(report.faults[0].reason, "cut off");
  EXPECT_EQ(report.pixels_per_class, (std::vector<int64_t>{3, 2, 0}));
  EXPECT_EQ(report.images_per_class, (std::vector<int64_t>{2, 1, 0}));
  EXPECT_EQ(report.ignored_pixels, 1);
  EXPECT_EQ(report.sizes, (std::map<std::string, int64_t>{{"1 x 2", 1}, {"1 x 4", 1}}));
  EXPECT_DOUBLE_EQ(report.mean.at(0), 0.5);
  EXPECT_DOUBLE_EQ(report.std.at(0), 0.5);
  // Frequencies: background 3 of 5 labelled pixels, a 2 of 3; their median is 19/30.
  EXPECT_NEAR(report.suggested_class_weights[0], (19.0 / 30) / (3.0 / 5), 1e-12);
  EXPECT_NEAR(report.suggested_class_weights[1], (19.0 / 30) / (2.0 / 3), 1e-12);
  EXPECT_EQ(report.suggested_class_weights[2], 1.0);
  EXPECT_EQ(report.warnings,
            (std::vector<std::string>{"1 of 3 classes never occur: b", "1 of 2 images (50.0 %) show background only"}));
}

TEST(DataCheck, NamesDuplicates) {
  const FixedDataset data({row_sample("x", {1, 2}, {0, 1}), row_sample("y", {1, 3}, {0, 2}), row_sample("z", {1, 2}, {0, 2}),
                           row_sample("w", {9, 9}, {-1, -1})});
  EXPECT_EQ(check_dataset(data, 1, {}).warnings,
            (std::vector<std::string>{"1 of 4 images (25.0 %) have no labelled pixel and teach nothing",
                                      "x and z are the same image"}));
}

TEST(DataCheck, NamesImagesThatTwoSplitsShare) {
  const FixedDataset train(
      {row_sample("x", {1, 2}, {0, 1}), bad_sample("y"), row_sample("z", {5, 6}, {0, 1}), row_sample("same", {5, 6}, {0, 1})});
  const FixedDataset val(
      {row_sample("a", {5, 6}, {1, 1}), row_sample("b", {5, 7}, {0, 1}), row_sample("c", {1, 2}, {0, 1}), bad_sample("d")});
  const DataReport of_train = check_dataset(train, 2, {}), of_val = check_dataset(val, 2, {});
  using Pairs = std::vector<std::pair<std::string, std::string>>;
  EXPECT_EQ(shared_images(of_train, of_val), (Pairs{{"z", "a"}, {"x", "c"}}));
  EXPECT_TRUE(shared_images(of_train, check_dataset(FixedDataset({bad_sample("d")}), 1, {})).empty());
}

TEST(DataCheck, WarnsOfMixedDepths) {
  Sample deep = row_sample("deep", {0, 0}, {0, 2});
  deep.image.pixels = std::vector<float>{65535.0F, 0.0F};
  deep.image.max_value = 65535.0F;
  const std::vector<std::string> warnings =
      check_dataset(FixedDataset({row_sample("x", {1, 2}, {0, 1}), deep, row_sample("z", {5, 6}, {0, 1})}), 1, {}).warnings;
  EXPECT_EQ(warnings, (std::vector<std::string>{
                          "the images have different depths: 1 16-bit (first: deep), 2 8-bit (first: x); training will refuse "
                          "to mix them in a batch: convert all to one depth"}));
}

TEST(DataCheck, FloatImagesAreScaledByTheirRange) {
  Sample sample = row_sample("x", {0, 0}, {0, 1});
  sample.image.pixels = std::vector<float>{65535.0F, 0.0F};
  sample.image.max_value = 65535.0F;
  const DataReport report = check_dataset(FixedDataset({sample}), 1, {});
  EXPECT_DOUBLE_EQ(report.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(report.std[0], 0.5);
}

TEST(DataCheck, ThreadsDoNotChangeTheReport) {
  DataConfig config;
  config.synthetic.kind = SyntheticKind::kShapes;
  config.synthetic.size = {32, 32};
  config.train.count = 30;
  const SyntheticDataset data(config, Split::kTrain);
  int64_t calls = 0, last = 0;
  const DataReport one = check_dataset(data, 1, {}), many = check_dataset(data, 5, [&](int64_t done) {
                                                       ++calls;
                                                       last = done;
                                                     });
  EXPECT_EQ(one.pixels_per_class, many.pixels_per_class);
  EXPECT_EQ(one.mean, many.mean);
  EXPECT_EQ(one.std, many.std);
  EXPECT_EQ(one.suggested_class_weights, many.suggested_class_weights);
  EXPECT_EQ(one.warnings, many.warnings);
  EXPECT_EQ(calls, 30);
  EXPECT_EQ(last, 30);
}

TEST(DataCheck, AnErrorThatIsNoSamplesEndsIt) {
  const FixedDataset data({bad_sample("x"), bad_sample("y")});
  EXPECT_THROW(check_dataset(data, 3, [](int64_t) { fail("the terminal is gone"); }), Error);
  EXPECT_EQ(check_dataset(FixedDataset({}), 3, {}).checked, 0);
}

}  // namespace
}  // namespace tessera
