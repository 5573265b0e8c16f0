#include "metric/class_counts.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

TEST(ClassCounts, OfAConfusionMatrix) {
  // Rows are labels. Class 2 is predicted once and never labelled.
  const std::vector<int64_t> confusion = {5, 1, 0,  //
                                          1, 2, 1,  //
                                          0, 0, 0};
  EXPECT_EQ(class_counts(confusion, 3), (std::vector<ClassCounts>{{5, 1, 1, 3}, {2, 1, 2, 5}, {0, 1, 0, 9}}));
  EXPECT_THROW(class_counts(confusion, 2), Error);
}

TEST(ClassCounts, SharesByHand) {
  const ClassCounts counts{.tp = 6, .fp = 2, .fn = 4, .tn = 88};
  EXPECT_DOUBLE_EQ(counts.iou(), 6.0 / 12);
  EXPECT_DOUBLE_EQ(counts.precision(), 6.0 / 8);
  EXPECT_DOUBLE_EQ(counts.recall(), 6.0 / 10);
  EXPECT_DOUBLE_EQ(counts.f1(), 12.0 / 18);
}

TEST(ClassCounts, WhatCannotBeMeasuredIsNaN) {
  const ClassCounts absent{.tn = 9};
  for (const double value : {absent.iou(), absent.precision(), absent.recall(), absent.f1()}) EXPECT_TRUE(std::isnan(value));
  const ClassCounts never_labelled{.fp = 3};
  EXPECT_EQ(never_labelled.precision(), 0);
  EXPECT_TRUE(std::isnan(never_labelled.recall()));
  EXPECT_EQ(never_labelled.iou(), 0);
  const ClassCounts never_predicted{.fn = 3};
  EXPECT_TRUE(std::isnan(never_predicted.precision()));
  EXPECT_EQ(never_predicted.recall(), 0);
  EXPECT_EQ(never_predicted.f1(), 0);
}

TEST(ClassCounts, MeanSkipsWhatIsNoNumber) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(mean_of_numbers(std::vector<double>{0.5, none, 1}), 0.75);
  EXPECT_TRUE(std::isnan(mean_of_numbers(std::vector<double>{none})));
}

}  // namespace
}  // namespace tessera
