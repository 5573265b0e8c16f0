#include "infer/eval_metrics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/error.h"

namespace tessera {
namespace {

const ClassTable kClasses{{"background", "nucleus"}, {}};

EvalConfig everything() {
  EvalConfig config;
  config.metrics = {ExtraMetric::kBoundary, ExtraMetric::kObjects};
  return config;
}

std::string refusal(const std::string& name, const EvalConfig& config) {
  try {
    full_metric_name(name, config, kClasses);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "accepted";
}

// 3 + 1 pixels of background, 4 of the nucleus; one object of two is found, with an IoU of 3/4.
EvalResult measured() {
  EvalResult result;
  result.report = make_iou_report(std::vector<int64_t>{3, 1, 0, 4}, 2);
  result.boundaries = {{.tp = 1, .fn = 3}, {.tp = 3, .fp = 1}};
  result.objects = {{}, {.found = {.tp = 1, .fn = 1}, .iou_sum = (int64_t{3} << 32) / 4}};
  result.object_classes = {false, true};
  return result;
}

TEST(EvalMetrics, ValuesByName) {
  const EvalResult result = measured();
  const auto value = [&](const char* name) { return metric_value(name, kClasses, result); };
  EXPECT_DOUBLE_EQ(value("mean_iou"), (3.0 / 4 + 4.0 / 5) / 2);
  EXPECT_DOUBLE_EQ(value("iou/nucleus"), 4.0 / 5);
  EXPECT_DOUBLE_EQ(value("precision/nucleus"), 4.0 / 5);
  EXPECT_DOUBLE_EQ(value("recall/background"), 3.0 / 4);
  EXPECT_DOUBLE_EQ(value("f1/nucleus"), 8.0 / 9);
  EXPECT_DOUBLE_EQ(value("boundary_iou/background"), 1.0 / 4);
  EXPECT_DOUBLE_EQ(value("mean_boundary_iou"), (1.0 / 4 + 3.0 / 4) / 2);
  EXPECT_DOUBLE_EQ(value("object_recall/nucleus"), 1.0 / 2);
  EXPECT_DOUBLE_EQ(value("mean_object_f1"), 2.0 / 3);  // of the one class that has objects
  EXPECT_DOUBLE_EQ(value("panoptic_quality/nucleus"), 2.0 / 3 * 3 / 4);
  EXPECT_TRUE(std::isnan(value("object_f1/background")));
}

TEST(EvalMetrics, EveryNameHasOneValue) {
  const EvalResult result = measured();
  std::map<std::string, int> times;
  for (const auto& metrics : {mean_metrics(result), metrics_by_class(kClasses, result)}) {
    for (const auto& [name, value] : metrics) {
      ++times[name];
      EXPECT_EQ(full_metric_name(name, everything(), kClasses), name);
      EXPECT_DOUBLE_EQ(metric_value(name, kClasses, result), value) << name;
    }
  }
  EXPECT_EQ(times.size(), 15U + 2 * 5 + 5);  // 9 of pixels and 6 further means; 5 of each class, 5 of the one with objects
  for (const auto& [name, count] : times) EXPECT_EQ(count, 1) << name;
}

TEST(EvalMetrics, OtherWaysToSayIt) {
  EXPECT_EQ(full_metric_name("mean_iou", EvalConfig{}, kClasses), "mean_iou");
  EXPECT_EQ(full_metric_name("iou", EvalConfig{}, kClasses), "mean_iou");
  EXPECT_EQ(full_metric_name("boundary_iou", everything(), kClasses), "mean_boundary_iou");
  EXPECT_EQ(full_metric_name("dice/nucleus", EvalConfig{}, kClasses), "f1/nucleus");
  EXPECT_EQ(full_metric_name("accuracy/nucleus", EvalConfig{}, kClasses), "recall/nucleus");
}

TEST(EvalMetrics, UnknownNameIsRefusedWithTheKnownOnes) {
  EXPECT_EQ(
      refusal("iou/nucleos", EvalConfig{}),
      "checkpoint.best_metric is 'iou/nucleos', did you mean 'iou/nucleus'?; known: mean_iou, mean_iou_all, "
      "pixel_accuracy, mean_accuracy, mean_dice, frequency_weighted_iou, mean_precision, mean_recall, mean_f1, and of one "
      "class, as in iou/nucleus: iou, precision, recall, f1 (classes: background, nucleus)");
}

TEST(EvalMetrics, WhatIsNotMeasuredNamesTheSetting) {
  EXPECT_EQ(refusal("boundary_iou", EvalConfig{}),
            "checkpoint.best_metric is 'boundary_iou', which is not measured; add eval.metrics=[boundary]");
  EXPECT_EQ(refusal("object_f1/nucleus", EvalConfig{}),
            "checkpoint.best_metric is 'object_f1/nucleus', which is not measured; add eval.metrics=[objects]");
  EXPECT_NE(refusal("object_f1/background", everything()), "accepted");  // has no objects
}

TEST(EvalMetrics, HelpNamesAll) {
  const std::string help = metric_help();
  for (const char* part :
       {"mean_iou, ", "f1/CLASS", "[boundary]: mean_boundary_iou, boundary_iou/CLASS", "panoptic_quality/CLASS"})
    EXPECT_NE(help.find(part), std::string::npos) << part << " in " << help;
}

TEST(EvalMetrics, NamesThatNeedNoDataAreAmongThoseOfEveryData) {
  const std::vector<std::string> names = mean_metric_names(everything());
  EXPECT_GT(names.size(), 10U);
  for (const std::string& name : names) EXPECT_EQ(full_metric_name(name, everything(), kClasses), name);
  const std::vector<std::string> few = mean_metric_names(EvalConfig{});
  EXPECT_EQ(std::count(few.begin(), few.end(), "mean_iou"), 1);
  EXPECT_EQ(std::count(few.begin(), few.end(), "mean_boundary_iou"), 0);
}

}  // namespace
}  // namespace tessera
