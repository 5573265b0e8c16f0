#include "report/run_history.h"

#include <cmath>
#include <fstream>

#include "core/error.h"
#include "report/run_log.h"
#include "support/fixtures.h"

namespace tessera {
namespace {

RunHistory history_of(const std::string& lines) {
  const testing::TempFolder folder;
  std::ofstream(folder / "log.jsonl") << lines;
  return read_run_log(folder / "log.jsonl");
}

TEST(RunHistory, ReadsTrainAndEvalLines) {
  const RunHistory history = history_of(
      R"({"type":"train","step":50,"epoch":0.5,"loss":2.5,"lr":0.01,"grad_norm":1.25,"images_per_s":80,"data_wait":0.1,"memory_mb":900})"
      "\n"
      R"({"type":"eval","step":50,"epoch":0.5,"metrics":{"mean_iou":0.25},)"
      R"("per_class":[{"name":"wall","iou":0.5,"accuracy":0.75,"dice":0.625,"pixels":12}],"confusion":[[9,3],[1,4]]})"
      "\n");
  ASSERT_EQ(history.train.size(), 1U);
  EXPECT_EQ(history.train[0].step, 50);
  EXPECT_EQ(history.train[0].loss, 2.5);
  EXPECT_EQ(history.train[0].data_wait, 0.1);
  EXPECT_EQ(history.train[0].memory_mb, 900);
  ASSERT_EQ(history.eval.size(), 1U);
  EXPECT_EQ(history.eval[0].metric("mean_iou"), 0.25);
  EXPECT_TRUE(std::isnan(history.eval[0].metric("absent")));
  ASSERT_EQ(history.eval[0].per_class.size(), 1U);
  EXPECT_EQ(history.eval[0].per_class[0].name, "wall");
  EXPECT_EQ(history.eval[0].per_class[0].dice, 0.625);
  EXPECT_EQ(history.eval[0].per_class[0].pixels, 12);
  EXPECT_EQ(history.eval[0].confusion, (std::vector<std::vector<int64_t>>{{9, 3}, {1, 4}}));
}

TEST(RunHistory, ReadsMetricsOfClassesAndObjects) {
  const RunHistory history = history_of(
      R"({"type":"start","best_metric":"object_f1/cell"})"
      "\n"
      R"({"type":"eval","step":5,"metrics":{"mean_iou":0.25},"per_class":[{"name":"cell","iou":1,"precision":0.5,"object_f1":0.75,)"
      R"("boundary_iou":0.125,"panoptic_quality":null,"objects":{"labelled":7,"predicted":6,"matched":5}},{"name":"glass"}]})"
      "\n");
  EXPECT_EQ(history.best_metric, "object_f1/cell");
  const EvalPoint& eval = history.eval.at(0);
  EXPECT_EQ(eval.metric("object_f1/cell"), 0.75);
  EXPECT_EQ(eval.metric("iou/cell"), 1);
  EXPECT_TRUE(std::isnan(eval.metric("panoptic_quality/cell")));
  EXPECT_EQ(eval.per_class[0].precision, 0.5);
  EXPECT_EQ(eval.per_class[0].boundary_iou, 0.125);
  ASSERT_TRUE(eval.per_class[0].objects);
  EXPECT_EQ(eval.per_class[0].objects->predicted, 6);
  EXPECT_EQ(eval.per_class[0].objects->f1, 0.75);
  EXPECT_FALSE(eval.per_class[1].objects);
}

TEST(RunHistory, MissingAndNullNumbersAreNan) {
  const RunHistory history = history_of("{\"type\":\"train\",\"step\":1,\"loss\":null}\n");
  ASSERT_EQ(history.train.size(), 1U);
  EXPECT_TRUE(std::isnan(history.train[0].loss));
  EXPECT_TRUE(std::isnan(history.train[0].lr));
}

TEST(RunHistory, CountsTornLinesAndReadsOn) {
  const RunHistory history = history_of(
      "{\"type\":\"train\",\"step\":1}\n"
      "{\"type\":\"train\",\"st\n"
      "[1,2]\n"
      "\n"
      "{\"type\":\"train\",\"step\":2}\n"
      "{\"type\":\"train\",\"step\":3");
  EXPECT_EQ(history.train.size(), 2U);
  EXPECT_EQ(history.torn_lines, 3);  // the cut one, the array, the unfinished last one
}

TEST(RunHistory, ResumeSupersedesLaterSteps) {
  const RunHistory history = history_of(
      "{\"type\":\"start\"}\n"
      "{\"type\":\"train\",\"step\":10,\"loss\":3}\n"
      "{\"type\":\"train\",\"step\":20,\"loss\":2}\n"
      "{\"type\":\"checkpoint\",\"step\":20}\n"
      "{\"type\":\"train\",\"step\":30,\"loss\":9}\n"
      "{\"type\":\"eval\",\"step\":30,\"metrics\":{}}\n"
      "{\"type\":\"warning\",\"step\":30,\"text\":\"slow\"}\n"
      "{\"type\":\"resume\",\"step\":20}\n"
      "{\"type\":\"train\",\"step\":30,\"loss\":1}\n");
  ASSERT_EQ(history.train.size(), 3U);
  EXPECT_EQ(history.train[1].step, 20);
  EXPECT_EQ(history.train[2].loss, 1);
  EXPECT_TRUE(history.eval.empty());
  EXPECT_EQ(history.superseded_lines, 2);
  ASSERT_EQ(history.events.size(), 4U);
  EXPECT_FALSE(history.events[1].superseded);  // the checkpoint that was resumed from
  EXPECT_TRUE(history.events[2].superseded);   // the warning of the lost steps
  EXPECT_FALSE(history.events[3].superseded);
}

TEST(RunHistory, PausesBetweenSessionsAreNotWorkingTime) {
  const RunHistory history = history_of(
      "{\"type\":\"start\",\"time\":100}\n"
      "{\"type\":\"train\",\"time\":130,\"step\":1}\n"
      "{\"type\":\"start\",\"time\":1000}\n"
      "{\"type\":\"resume\",\"time\":1001,\"step\":1}\n"
      "{\"type\":\"end\",\"time\":1011}\n");
  EXPECT_DOUBLE_EQ(history.active_seconds, 30 + 10);
}

TEST(RunHistory, OddFieldsCountAsAbsent) {
  const RunHistory history = history_of(
      "{\"type\":\"train\",\"step\":\"x\",\"loss\":\"low\"}\n"
      "{\"type\":\"eval\",\"step\":2,\"metrics\":[1],\"per_class\":[1],\"confusion\":[[1,2],[3]]}\n"
      "{\"type\":\"bad_sample\",\"id\":7}\n");
  EXPECT_TRUE(std::isnan(history.train.at(0).loss));
  EXPECT_TRUE(history.eval.at(0).metrics.empty());
  EXPECT_TRUE(history.eval.at(0).per_class.empty());
  EXPECT_TRUE(history.eval.at(0).confusion.empty());
  EXPECT_EQ(history.bad_samples.at(0).id, "");
}

TEST(RunHistory, ReadsWhatRunLogWrote) {
  const testing::TempFolder folder;
  {
    RunLog log(folder / "log.jsonl");
    log.event("start");
    log.event("bad_sample", {{"id", "a.png"}, {"reason", "truncated"}, {"replaced_by", "b.png"}});
    log.event("train", {{"step", 1}, {"loss", NAN}});
    log.event("end", {{"status", "done"}, {"seconds", 1.5}});
  }
  const RunHistory history = read_run_log(folder / "log.jsonl");
  EXPECT_EQ(history.torn_lines, 0);
  EXPECT_EQ(history.bad_samples.at(0).replaced_by, "b.png");
  EXPECT_TRUE(std::isnan(history.train.at(0).loss));
  EXPECT_EQ(history.events.at(1).fields.at("status"), "done");
}

TEST(RunHistory, NamesTheMissingFile) {
  EXPECT_THROW(read_run_log("/nowhere/log.jsonl"), Error);
}

}  // namespace
}  // namespace tessera
