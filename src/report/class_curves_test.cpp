#include "report/class_curves.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

std::vector<std::string> shown(const Curve& curve) {
  std::vector<std::string> names;
  for (const CurveSeries& series : curve.series) {
    if (!series.hidden) names.push_back(series.label);
  }
  return names;
}

TEST(ClassCurves, FewClassesAreAllShownBestFirst) {
  RunHistory history;
  history.eval = {{.step = 5, .per_class = {{.name = "sky", .iou = 0.2}, {.name = "road", .iou = 0.1}}},
                  {.step = 9, .per_class = {{.name = "road", .iou = 0.9}, {.name = "sky", .iou = 0.5}}}};
  const std::optional<Curve> curve = class_curve(history);
  ASSERT_TRUE(curve);
  EXPECT_EQ(shown(*curve), (std::vector<std::string>{"road", "sky"}));
  EXPECT_EQ(curve->series[0].x, (std::vector<double>{5, 9}));
  EXPECT_EQ(curve->series[0].y, (std::vector<double>{0.1, 0.9}));  // by name, whatever the order of the line
  EXPECT_EQ(curve->summary, "lowest sky: 50.00\u00a0%");
}

TEST(ClassCurves, OfManyTheExtremesAreShownAndTheRestCanBeChosen) {
  RunHistory history;
  EvalPoint point{.step = 1};
  for (int i = 0; i < 150; ++i) point.per_class.push_back({.name = "c" + std::to_string(i), .iou = i / 150.0});
  for (int64_t step = 1; step <= 1000; ++step) {
    point.step = step;
    history.eval.push_back(point);
  }
  const std::optional<Curve> curve = class_curve(history);
  ASSERT_TRUE(curve);
  EXPECT_EQ(shown(*curve), (std::vector<std::string>{"c149", "c148", "c147", "c2", "c1", "c0"}));
  EXPECT_FALSE(curve->series[5].hidden);
  EXPECT_EQ(curve->series.size(), 150U);
  size_t points = 0;
  for (const CurveSeries& series : curve->series) points += series.y.size();
  EXPECT_LE(points, kMaxClassPoints);
}

TEST(ClassCurves, ClassesNeverMeasuredAreLeftOut) {
  RunHistory history;
  history.eval = {{.step = 1, .per_class = {{.name = "a", .iou = 0.5}, {.name = "b"}}}};
  EXPECT_EQ(class_curve(history)->series.size(), 1U);
  history.eval = {{.step = 1, .per_class = {{.name = "b"}}}};
  EXPECT_FALSE(class_curve(history));
  EXPECT_FALSE(class_curve(RunHistory{}));
}

}  // namespace
}  // namespace tessera
