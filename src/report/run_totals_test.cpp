#include "report/run_totals.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

TEST(RunTotals, MedianAndLargestPassOverNan) {
  EXPECT_DOUBLE_EQ(median({3, NAN, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_TRUE(std::isnan(median({NAN})));
  EXPECT_DOUBLE_EQ(largest({NAN, 3, INFINITY, 5, NAN}), 5);
  EXPECT_TRUE(std::isnan(largest({})));
}

TEST(RunTotals, BestEvaluationIsTheEarliestOfEquals) {
  RunHistory history;
  history.eval = {{.step = 1, .metrics = {{"mean_iou", NAN}}},
                  {.step = 2, .metrics = {{"mean_iou", 0.4}}},
                  {.step = 3, .metrics = {{"mean_iou", 0.4}}},
                  {.step = 4, .metrics = {{"mean_iou", 0.3}}}};
  ASSERT_NE(best_eval(history), nullptr);
  EXPECT_EQ(best_eval(history)->step, 2);
  EXPECT_EQ(best_eval(RunHistory{}), nullptr);
}

TEST(RunTotals, BestIsByTheMetricOfTheRun) {
  RunHistory history;
  history.eval = {{.step = 1, .metrics = {{"mean_iou", 0.4}}, .class_metrics = {{"iou/sky", 0.1}}},
                  {.step = 2, .metrics = {{"mean_iou", 0.3}}, .class_metrics = {{"iou/sky", 0.2}}}};
  EXPECT_EQ(best_eval(history)->step, 1);
  history.best_metric = "iou/sky";
  EXPECT_EQ(best_eval(history)->step, 2);
}

TEST(RunTotals, ClassesComeFromTheNewestEvaluationThatHasThem) {
  RunHistory history;
  history.eval.push_back({.step = 1, .per_class = {{.name = "wall"}}, .confusion = {{1}}});
  history.eval.push_back({.step = 2, .per_class = {{.name = "sky"}}});
  history.eval.push_back({.step = 3});
  EXPECT_EQ(last_eval_with_classes(history)->step, 2);
  EXPECT_EQ(last_eval_with_confusion(history)->step, 1);
}

TEST(RunTotals, StatusIsThatOfTheLastSession) {
  RunHistory history;
  EXPECT_EQ(run_status(history), "not finished");
  history.events = {{.type = "start"}, {.type = "end", .fields = {{"status", "stopped"}}}};
  EXPECT_EQ(run_status(history), "stopped");
  history.events.push_back({.type = "resume", .step = 5});
  EXPECT_EQ(run_status(history), "not finished");
}

}  // namespace
}  // namespace tessera
