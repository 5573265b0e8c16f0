#include "report/report_curves.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace tessera {
namespace {

RunHistory long_run(int points) {
  RunHistory history;
  for (int i = 0; i < points; ++i) history.train.push_back({.step = i, .loss = 1.0 + i % 7, .lr = 0.1});
  return history;
}

const Curve& find(const std::vector<Curve>& curves, const std::string& id) {
  for (const Curve& curve : curves) {
    if (curve.id == id) return curve;
  }
  throw std::out_of_range(id);
}

TEST(ReportCurves, NothingLoggedNothingDrawn) {
  EXPECT_TRUE(make_curves(RunHistory{}).empty());
  EXPECT_EQ(curve_figures({}), "");
  EXPECT_EQ(curve_data({}).dump(), "{}");
}

TEST(ReportCurves, LongSeriesAreDecimatedAndKeepTheirSpike) {
  RunHistory history = long_run(30'000);
  history.train[12'345].loss = 99;
  const auto curves = make_curves(history);
  for (const Curve& curve : curves) {
    for (const CurveSeries& series : curve.series) {
      EXPECT_LE(series.y.size(), kMaxCurvePoints);
      EXPECT_EQ(series.x.size(), series.y.size());
      EXPECT_EQ(series.x.back(), 29'999);
    }
  }
  const auto& raw = find(curves, "loss").series.at(0).y;
  EXPECT_EQ(*std::max_element(raw.begin(), raw.end()), 99);
}

TEST(ReportCurves, LossesThatAreNotFiniteAreGapsAndSaid) {
  RunHistory history = long_run(10);
  history.train[4].loss = NAN;
  history.train[5].loss = INFINITY;
  const auto curves = make_curves(history);
  EXPECT_EQ(find(curves, "loss").note, "2 logged losses are not finite, first at step 4.");
  const auto y = curve_data(curves).at("loss").at("series").at(0).at("y");
  EXPECT_TRUE(y.at(4).is_null());
  EXPECT_TRUE(y.at(5).is_null());
  EXPECT_EQ(y.at(6), 7.0);
}

TEST(ReportCurves, OnlyNanLossesStillSaySo) {
  RunHistory history;
  history.train = {{.step = 1}};
  const auto curves = make_curves(history);
  ASSERT_EQ(curves.size(), 1U);
  EXPECT_TRUE(curves[0].series.empty());
  EXPECT_EQ(curves[0].note, "1 logged loss is not finite, first at step 1.");
}

TEST(ReportCurves, ScoresAreDrawnTogetherAndOtherNumbersAreNot) {
  RunHistory history;
  history.eval = {{.step = 5, .metrics = {{"boundary_iou", 0.2}, {"loss", 1.5}, {"mean_iou", 0.5}, {"seconds", 40}}}};
  const auto curves = make_curves(history);
  const Curve& scores = find(curves, "metrics");
  ASSERT_EQ(scores.series.size(), 2U);
  EXPECT_EQ(scores.series[0].label, "mean IoU");
  EXPECT_EQ(scores.series[1].label, "boundary IoU");
  EXPECT_EQ(find(curves, "loss").series.at(0).label, "validation");
}

TEST(ReportCurves, OneScoreUnderTwoNamesIsDrawnOnce) {
  RunHistory history;
  history.eval = {{.step = 5, .metrics = {{"mean_dice", 0.5}, {"mean_f1", 0.5}, {"mean_accuracy", 0.4}, {"mean_recall", 0.4}}}};
  const auto curves = make_curves(history);
  const Curve& scores = find(curves, "metrics");
  ASSERT_EQ(scores.series.size(), 2U);
  EXPECT_EQ(scores.series[0].label, "mean recall");
  EXPECT_EQ(scores.series[1].label, "mean F1");
}

TEST(ReportCurves, LabelsKeepTheNamesOfClasses) {
  EXPECT_EQ(metric_label("mean_iou"), "mean IoU");
  EXPECT_EQ(metric_label("object_f1/iou_f1"), "object F1 of iou_f1");
}

TEST(ReportCurves, WaitingForDataHasItsOwnAxis) {
  RunHistory history;
  history.train = {{.step = 1, .images_per_s = 10, .data_wait = 0.25}, {.step = 2, .images_per_s = 30, .data_wait = 0.75}};
  const auto curves = make_curves(history);
  const Curve& speed = find(curves, "throughput");
  ASSERT_EQ(speed.series.size(), 2U);
  EXPECT_FALSE(speed.series[0].right_axis);
  EXPECT_TRUE(speed.series[1].right_axis);
  EXPECT_EQ(speed.summary, "median 20 images/s, 50.0\u00a0% waiting for data");
}

}  // namespace
}  // namespace tessera
