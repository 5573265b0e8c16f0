#include "metric/iou_report.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "core/error.h"

namespace tessera {
namespace {

// Rows are labels. Class 0: 6 labelled, 5 found; class 1: 4 labelled, 2 found; class 2: predicted once, never labelled;
// class 3: absent.
const std::vector<int64_t> kCounts = {5, 1, 0, 0,  //
                                      1, 2, 1, 0,  //
                                      0, 0, 0, 0,  //
                                      0, 0, 0, 0};

TEST(IouReport, WorkedExample) {
  const IouReport report = make_iou_report(kCounts, 4);
  EXPECT_DOUBLE_EQ(report.pixel_accuracy, 7.0 / 10);
  EXPECT_DOUBLE_EQ(report.classes[0].iou, 5.0 / 7);  // 6 labelled + 6 predicted - 5
  EXPECT_DOUBLE_EQ(report.classes[1].iou, 2.0 / 5);  // 4 + 3 - 2
  EXPECT_DOUBLE_EQ(report.classes[0].dice, 10.0 / 12);
  EXPECT_DOUBLE_EQ(report.classes[1].dice, 4.0 / 7);
  EXPECT_DOUBLE_EQ(report.mean_accuracy, (5.0 / 6 + 2.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(report.mean_dice, (10.0 / 12 + 4.0 / 7 + 0) / 3);
  EXPECT_DOUBLE_EQ(report.classes[1].precision, 2.0 / 3);
  EXPECT_DOUBLE_EQ(report.mean_precision, (5.0 / 6 + 2.0 / 3 + 0) / 3);
  EXPECT_DOUBLE_EQ(report.frequency_weighted_iou, (6 * (5.0 / 7) + 4 * (2.0 / 5)) / 10);
  EXPECT_EQ(report.classes[1].pixels, 4);
}

TEST(IouReport, AbsentClassIsSkippedOrZeroAsAsked) {
  const IouReport report = make_iou_report(kCounts, 4);
  EXPECT_DOUBLE_EQ(report.mean_iou_present, (5.0 / 7 + 2.0 / 5 + 0) / 3);
  EXPECT_DOUBLE_EQ(report.mean_iou_all, (5.0 / 7 + 2.0 / 5 + 0 + 0) / 4);
  EXPECT_TRUE(std::isnan(report.classes[3].iou));
  EXPECT_TRUE(std::isnan(report.classes[3].dice));
  EXPECT_TRUE(std::isnan(report.classes[3].accuracy));
}

TEST(IouReport, ClassPredictedButNeverLabelledHasIouZeroAndNoAccuracy) {
  const IouReport report = make_iou_report(kCounts, 4);
  EXPECT_EQ(report.classes[2].iou, 0);
  EXPECT_TRUE(std::isnan(report.classes[2].accuracy));
}

TEST(IouReport, NothingCountedIsNaN) {
  const IouReport report = make_iou_report(std::vector<int64_t>(4, 0), 2);
  for (const auto& [name, value] : named_values(report)) EXPECT_TRUE(std::isnan(value)) << name;
}

TEST(IouReport, NamesOfTheLog) {
  const auto values = named_values(make_iou_report(kCounts, 4));
  EXPECT_EQ(values[0].first, "mean_iou");
  EXPECT_DOUBLE_EQ(values[0].second, (5.0 / 7 + 2.0 / 5 + 0) / 3);
  EXPECT_EQ(values[1].first, "mean_iou_all");
  const std::map<std::string, double> by_name(values.begin(), values.end());
  EXPECT_DOUBLE_EQ(by_name.at("mean_f1"), by_name.at("mean_dice"));
  EXPECT_DOUBLE_EQ(by_name.at("mean_recall"), by_name.at("mean_accuracy"));
}

TEST(IouReport, MatrixOfAnotherSizeIsRefused) {
  EXPECT_THROW(make_iou_report(kCounts, 3), Error);
}

}  // namespace
}  // namespace tessera
