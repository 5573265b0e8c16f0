#include "metric/multi_label_counts.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

at::Tensor row(const std::vector<int64_t>& labels) {
  return at::tensor(labels, at::kLong).to(at::kShort).view({1, -1});
}

TEST(MultiLabelCounts, EachClassIsCountedAtEveryLabelledPixel) {
  const std::vector<ClassCounts> counts = count_multi_label(row({0, 1, 3, 3, 2, -1}), row({1, 1, 3, 1, 0, 3}), 2);
  EXPECT_EQ(counts[0], (ClassCounts{.tp = 3, .fp = 1, .fn = 0, .tn = 1}));
  EXPECT_EQ(counts[1], (ClassCounts{.tp = 1, .fp = 0, .fn = 2, .tn = 2}));
}

TEST(MultiLabelCounts, AccuracyIsTheShareOfRightAnswers) {
  const IouReport report = make_multi_label_report(count_multi_label(row({0, 1, 3, 3, 2, -1}), row({1, 1, 3, 1, 0, 3}), 2));
  EXPECT_DOUBLE_EQ(report.pixel_accuracy, 0.7);
  EXPECT_DOUBLE_EQ(report.classes[0].iou, 0.75);
  EXPECT_DOUBLE_EQ(report.classes[1].iou, 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.mean_iou_present, (0.75 + 1.0 / 3) / 2);
  EXPECT_DOUBLE_EQ(report.classes[1].precision, 1);
  EXPECT_DOUBLE_EQ(report.classes[1].accuracy, 1.0 / 3);
  EXPECT_EQ(report.classes[0].pixels, 3);
}

TEST(MultiLabelCounts, WithoutLabelledPixelsThereIsNoAnswer) {
  EXPECT_TRUE(std::isnan(make_multi_label_report(count_multi_label(row({-1, -1}), row({3, 0}), 2)).pixel_accuracy));
}

TEST(MultiLabelCounts, ClassesOutOfRangeAreRefused) {
  EXPECT_THROW(count_multi_label(row({4}), row({0}), 2), Error);
  EXPECT_THROW(count_multi_label(row({0}), row({4}), 2), Error);
  EXPECT_THROW(count_multi_label(row({0}), row({-1}), 2), Error);
  EXPECT_THROW(count_multi_label(row({0, 1}), row({0}), 2), Error);
}

}  // namespace
}  // namespace tessera
