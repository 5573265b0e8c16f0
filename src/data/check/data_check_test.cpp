#include "data/check/data_check.h"

#include <gtest/gtest.h>

#include "data/datasets/synthetic.h"
#include "support/fixed_dataset.h"

namespace tessera {
namespace {

using testing::bad_sample;
using testing::FixedDataset;
using testing::row_sample;

DataReport report_on(std::vector<Sample> samples, int threads = 2) {
  return report_of(survey_split(Split::kTrain, std::make_shared<FixedDataset>(std::move(samples)), threads, {}));
}

TEST(DataCheck, WhateverGoesWrongWithOneSampleIsItsFault) {
  const DataReport report = report_on({bad_sample("too large"), bad_sample("odd"), row_sample("z", {255, 0}, {0, 0})});
  ASSERT_EQ(report.faults.size(), 2U);
  EXPECT_EQ(report.faults[0].id, "too large");
  EXPECT_NE(report.faults[0].reason.find("not enough memory"), std::string::npos);
  EXPECT_EQ(report.faults[1].reason, "not foreseen");
  EXPECT_EQ(report.usable(), 1);
}

TEST(DataCheck, CountsWorkedOutByHand) {
  const DataReport report =
      report_on({row_sample("x", {0, 255, 255, 0}, {0, 1, 1, -1}), bad_sample("y"), row_sample("z", {255, 0}, {0, 0})});
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
  ASSERT_EQ(report.histogram.size(), 1U);
  EXPECT_EQ(report.histogram[0][0], 3);
  EXPECT_EQ(report.histogram[0][255], 3);
  // Frequencies: background 3 of 5 labelled pixels, a 2 of 3; their median is 19/30.
  EXPECT_NEAR(report.suggested_class_weights[0], (19.0 / 30) / (3.0 / 5), 1e-12);
  EXPECT_NEAR(report.suggested_class_weights[1], (19.0 / 30) / (2.0 / 3), 1e-12);
  EXPECT_EQ(report.suggested_class_weights[2], 1.0);
}

TEST(DataCheck, FloatImagesAreScaledByTheirRange) {
  Sample sample = row_sample("x", {0, 0}, {0, 1});
  sample.image.pixels = std::vector<float>{65535.0F, 0.0F};
  sample.image.max_value = 65535.0F;
  const DataReport report = report_on({sample});
  EXPECT_DOUBLE_EQ(report.mean[0], 0.5);
  EXPECT_DOUBLE_EQ(report.std[0], 0.5);
  EXPECT_TRUE(report.histogram.empty());
}

TEST(DataCheck, ThreadsDoNotChangeTheReport) {
  DataConfig config;
  config.synthetic.kind = SyntheticKind::kShapes;
  config.synthetic.size = {32, 32};
  config.train.count = 30;
  const auto data = std::make_shared<SyntheticDataset>(config, Split::kTrain);
  int64_t calls = 0, last = 0;
  const DataReport one = report_of(survey_split(Split::kTrain, data, 1, {}));
  const DataReport many = report_of(survey_split(Split::kTrain, data, 5, [&](int64_t done) {
    ++calls;
    last = done;
  }));
  EXPECT_EQ(one.pixels_per_class, many.pixels_per_class);
  EXPECT_EQ(one.mean, many.mean);
  EXPECT_EQ(one.std, many.std);
  EXPECT_EQ(one.suggested_class_weights, many.suggested_class_weights);
  EXPECT_EQ(one.histogram, many.histogram);
  EXPECT_EQ(calls, 30);
  EXPECT_EQ(last, 30);
}

TEST(DataCheck, AnErrorThatIsNoSamplesEndsIt) {
  const auto data = std::make_shared<FixedDataset>(std::vector<Sample>{bad_sample("x"), bad_sample("y")});
  EXPECT_THROW(survey_split(Split::kTrain, data, 3, [](int64_t) { fail("the terminal is gone"); }), Error);
  EXPECT_EQ(report_on({}, 3).checked, 0);
}

}  // namespace
}  // namespace tessera
