#include "study/scale/scale_table.h"

#include <gtest/gtest.h>

#include <cmath>

#include "study/scale/scale_columns.h"
#include "study/scale/scale_files.h"
#include "study/scale/scale_state.h"

namespace tessera {
namespace {

ScaleOutcome outcome(ParallelMode mode, int64_t ranks, int64_t repeat, double images_per_s, double metric) {
  RunFigures run;
  run.done = true;
  run.images_per_s = images_per_s;
  run.epoch_s = 3600 / images_per_s;
  run.train_s = 2 * run.epoch_s;
  run.memory_mb = 400;
  run.hidden_share = 0.5;
  run.metric = "mean_iou";
  run.last = metric;
  run.best = metric + 0.01;
  run.metric_by_epoch = {{1, metric - 0.1}, {2, metric + 0.01}};
  run.machine.device = "cpu";
  return {.cell = {.mode = mode, .ranks = ranks, .repeat = repeat},
          .batch_size = 16,
          .state = TrialState::kComplete,
          .figures = run};
}

// Two seeds on 1 and 4 ranks; dp on 4 alone, one of them failed.
std::vector<ScaleOutcome> outcomes() {
  std::vector<ScaleOutcome> all;
  for (int64_t repeat : {0, 1})
    all.push_back(outcome(ParallelMode::kDdp, 1, repeat, 10, 0.80 + 0.02 * static_cast<double>(repeat)));
  for (int64_t repeat : {0, 1})
    all.push_back(outcome(ParallelMode::kDdp, 4, repeat, 30 + 10 * static_cast<double>(repeat), 0.81));
  all.push_back(outcome(ParallelMode::kDp, 4, 0, 20, 0.7));
  all.push_back(
      {.cell = {.mode = ParallelMode::kDp, .ranks = 4, .repeat = 1}, .state = TrialState::kFailed, .reason = "no <luck>"});
  return all;
}

TEST(ScaleTable, ComparesWithTheFewestRanks) {
  const ScaleTable table = scale_table(outcomes(), std::nullopt, std::nullopt);
  ASSERT_EQ(table.rows.size(), 3U);
  const ScaleRow &one = table.rows[0], &four = table.rows[1], &threads = table.rows[2];
  EXPECT_EQ(one.complete, 2);
  EXPECT_EQ(one.speed_up, 1);
  EXPECT_DOUBLE_EQ(one.metric, 0.81);
  EXPECT_NEAR(one.metric_sd, 0.02 / std::sqrt(2.0), 1e-12);
  EXPECT_TRUE(std::isnan(one.metric_change));
  EXPECT_TRUE(std::isnan(one.hidden_share));  // of one rank there is no exchange
  EXPECT_EQ(four.images_per_s, 35);
  EXPECT_EQ(four.speed_up, 3.5);
  EXPECT_EQ(four.ideal, 4);
  EXPECT_EQ(four.efficiency, 0.875);
  EXPECT_EQ(four.hidden_share, 0.5);
  EXPECT_NEAR(four.metric_change, 0.01, 1e-12);
  EXPECT_EQ(four.epoch_s_low, 90);
  EXPECT_EQ(four.epoch_s_high, 120);
  EXPECT_EQ(four.memory_mb, 400);
  EXPECT_EQ(threads.memory_mb, 100);  // of a process with four
  EXPECT_EQ(threads.complete, 1);
  EXPECT_EQ(threads.failed, 1);
  EXPECT_EQ(threads.speed_up, 1);  // it is the only one of its mode
  EXPECT_TRUE(table.currency.empty());
}

TEST(ScaleTable, TheTargetIsWhatAllReachedUnlessOneIsGiven) {
  EXPECT_DOUBLE_EQ(scale_table(outcomes(), std::nullopt, std::nullopt).target, 0.71);
  const ScaleTable table = scale_table(outcomes(), 0.72, std::nullopt);
  EXPECT_EQ(table.rows[0].epochs_to_target, 1.5);  // one in its first epoch, one in its second
  EXPECT_EQ(table.rows[0].seconds_to_target, 1.5 * 360);
  EXPECT_TRUE(std::isnan(table.rows[2].epochs_to_target));
}

TEST(ScaleTable, CostsAreOfAllRanks) {
  const Prices prices{.currency = "EUR", .device_hour = {{"cpu", 0.5}}};
  const ScaleTable table = scale_table(outcomes(), std::nullopt, prices);
  EXPECT_EQ(table.currency, "EUR");
  EXPECT_DOUBLE_EQ(table.rows[0].cost_per_epoch, 0.5 * 360 / 3600);
  EXPECT_DOUBLE_EQ(table.rows[1].cost_per_epoch, 4 * 0.5 * 105 / 3600);
  EXPECT_TRUE(scale_table(outcomes(), std::nullopt, Prices{.device_hour = {{"H200", 3}}}).currency.empty());
}

TEST(ScaleFiles, ShowTheSameNumbersEverywhere) {
  const ScaleConfig config{.config = "unet", .name = "a & b"};
  const std::vector<ScaleOutcome> all = outcomes();
  const ScaleTable table = scale_table(all, std::nullopt, std::nullopt);
  const std::string text = scale_text(table), csv = scale_csv(table), page = scale_page(table, all, config);
  EXPECT_NE(text.find("ddp       4     16      105"), std::string::npos) << text;
  EXPECT_NE(text.find("1, 1 failed"), std::string::npos) << text;
  EXPECT_EQ(csv.substr(0, csv.find(",epoch_s")), "model,mode,ranks,batch_size,complete,failed,unfinished");
  EXPECT_NE(csv.find("\n,ddp,4,16,2,0,0,105,90,120,35,3.5,4,0.875,0.5,"), std::string::npos) << csv;
  const nlohmann::json json = scale_json(table, all, config);
  EXPECT_EQ(json["rows"][1]["speed_up"], 3.5);
  EXPECT_TRUE(json["rows"][0]["hidden_share"].is_null());
  EXPECT_EQ(json["trainings"][5]["state"], "failed");
  EXPECT_EQ(json["trainings"][3]["curve"].size(), 2U);
  EXPECT_NE(page.find("no &lt;luck&gt;"), std::string::npos);
  EXPECT_NE(page.find("a &amp; b"), std::string::npos);
  EXPECT_NE(page.find("with 4 ranks (ddp) 3.5 times as many images a second as with 1, 87.5"), std::string::npos);
}

TEST(ScaleFiles, ChartsAreOfWhatThereIs) {
  std::vector<std::string> titles;
  for (const LineChart& chart : scale_charts(scale_table(outcomes(), std::nullopt, std::nullopt), Scaling::kStrong))
    titles.push_back(chart.title);
  EXPECT_EQ(titles, (std::vector<std::string>{"Speed-up", "Efficiency", "Training time per epoch", "Result, same batch",
                                              "Exchange hidden behind the backward pass", "Memory of a rank"}));
  EXPECT_TRUE(scale_charts(scale_table({}, std::nullopt, std::nullopt), Scaling::kStrong).empty());
}

TEST(ScaleFiles, BeforeAnythingHasEndedThereIsATableToo) {
  const std::vector<ScaleOutcome> none{{.cell = {.ranks = 2}, .batch_size = 8}};
  const ScaleTable table = scale_table(none, std::nullopt, std::nullopt);
  EXPECT_NE(scale_text(table).find("1 to come"), std::string::npos);
  EXPECT_NE(scale_page(table, none, {.config = "unet"}).find("waiting"), std::string::npos);
}

}  // namespace
}  // namespace tessera
