#include "train/run_origin.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "core/error.h"
#include "core/files.h"
#include "infer/checkpoint/checkpoint_store.h"
#include "support/fixtures.h"
#include "support/messages.h"
#include "support/tiny_experiment.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::message_of;
using testing::TempFolder;
using testing::tiny_experiment;

// Two steps are an epoch, so that runs are cut within and between epochs. The average and dropout have states of their own.
class GoingOn : public ::testing::Test {
 protected:
  Experiment experiment(const std::string& name, std::vector<std::string> changes) const {
    changes.insert(changes.begin(),
                   {"schedule.type=constant", "optimizer.type=adamw", "optimizer.lr=0.01", "train.ema.smoothing=0.9",
                    "model.unet.dropout=0.2", "run.tensorboard=false", "run.pictures=0", "train.device=cpu",
                    "checkpoint.every=2ba", "eval.every=4ba", "run.dir=" + place(name).string()});
    return tiny_experiment(changes);
  }
  fs::path place(const std::string& name) const { return folder_ / name; }

  RunResult train(const std::string& name, const std::vector<std::string>& changes, const RunOptions& options = {}) const {
    World alone;
    return run_training(experiment(name, changes), options, alone);
  }

  static void expect_same(const NamedTensors& a, const NamedTensors& b) {
    ASSERT_EQ(a.size(), b.size());
    for (size_t i = 0; i < a.size(); ++i) {
      EXPECT_EQ(a[i].first, b[i].first);
      EXPECT_TRUE(at::equal(a[i].second, b[i].second)) << a[i].first;
    }
  }
  void expect_same_end(const std::string& one, const std::string& other) const {
    const Checkpoint a = load_newest(place(one)).second, b = load_newest(place(other)).second;
    EXPECT_EQ(a.state.step, b.state.step);
    EXPECT_EQ(a.state.optimizer_steps, b.state.optimizer_steps);
    expect_same(a.model, b.model);
    expect_same(a.optimizer, b.optimizer);
    expect_same(a.average, b.average);
    EXPECT_FALSE(a.average.empty());
  }

  const TempFolder folder_;
};

TEST_F(GoingOn, IsARunThatWasAsLongFromTheStart) {
  train("whole", {"train.duration=10ba"});
  train("first", {"train.duration=5ba"});
  train("second", {"train.duration=10ba"}, {.from = place("first")});
  expect_same_end("whole", "second");
  train("third", {"train.duration=10ba"}, {.from = place("first/checkpoints/step-00000004")});
  expect_same_end("whole", "third");
}

TEST_F(GoingOn, TheNewRunIsResumedWithoutTheOther) {
  train("whole", {"train.duration=10ba"});
  train("first", {"train.duration=5ba"});
  const RunOptions until{.from = place("first"), .stop_at = Duration::parse("7ba")};
  EXPECT_EQ(train("second", {"train.duration=10ba"}, until).end, RunEnd::kPaused);
  fs::remove_all(place("first"));
  train("second", {"train.duration=10ba"}, {.resume = true, .from = place("first")});
  expect_same_end("whole", "second");
  const auto environment = nlohmann::json::parse(read_text(place("second/environment.json")));
  EXPECT_EQ(environment.at("from").at("step"), 5) << "a resumed run still says where it came from";
}

TEST_F(GoingOn, SaysWhatChangedAndMeasuresAnew) {
  train("first", {"train.duration=4ba"});
  const RunResult second =
      train("second", {"train.duration=8ba", "optimizer.lr=0.002", "schedule.type=cosine", "data.train.count=20"},
            {.from = place("first")});
  EXPECT_EQ(second.state.step, 8);
  const auto from = nlohmann::json::parse(read_text(place("second/environment.json"))).at("from").get<RunOrigin>();
  EXPECT_EQ(from.step, 4);
  EXPECT_EQ(from.checkpoint, place("first/checkpoints/step-00000004").string());
  EXPECT_EQ(from.changes,
            (std::vector<std::string>{"data.train.count: 16 in the run, 20 now", "optimizer.lr: 0.01 in the run, 0.002 now",
                                      "schedule.type: constant in the run, cosine now",
                                      "train.duration: 4ba in the run, 8ba now", "training images: 16 in the run, 20 now"}));
  const std::string log = read_text(place("second/log.jsonl"));
  EXPECT_CONTAINS(log.substr(0, log.find('\n')), "optimizer.lr: 0.01 in the run, 0.002 now");
  EXPECT_CONTAINS(log, R"("path":"checkpoints/step-00000004")");  // where it began
  EXPECT_GE(second.state.best_step, 4) << "the best is one of its own evaluations";
}

TEST_F(GoingOn, PrecisionAndAverageMayComeAndGo) {
  train("first", {"train.duration=2ba"});
  train("without", {"train.duration=4ba", "train.ema.smoothing=0", "train.precision=fp64"}, {.from = place("first")});
  EXPECT_TRUE(load_newest(place("without")).second.average.empty());
  train("again", {"train.duration=6ba"}, {.from = place("without")});
  EXPECT_FALSE(load_newest(place("again")).second.average.empty());
}

TEST_F(GoingOn, WhatCannotGoOnSaysWhatCanBeDone) {
  train("first", {"train.duration=4ba"});
  const auto refused = [&](const std::vector<std::string>& changes, const std::string& name = "second") {
    return message_of<UsageError>([&] { train(name, changes, {.from = place("first")}); });
  };
  const std::string way = "model.pretrained=" + place("first").string();
  EXPECT_CONTAINS(refused({"train.duration=4ba"}), "ends at step 4");
  const std::string optimizer = refused({"train.duration=8ba", "optimizer.type=sgd"});
  EXPECT_CONTAINS(optimizer, "its optimizer is adamw and this config's sgd");
  EXPECT_CONTAINS(optimizer, way);
  const std::string model = refused({"train.duration=8ba", "model.unet.channels=[4,12]"});
  EXPECT_CONTAINS(model, "it is of another model");
  EXPECT_CONTAINS(model, way);
  EXPECT_CONTAINS(refused({"train.duration=8ba", "model.freeze=[down0]"}), way);
  EXPECT_FALSE(fs::exists(place("second"))) << "a refused start left its folder";
  EXPECT_CONTAINS(
      message_of([&] { check_origin_is_another(place("first/checkpoints/step-00000004"), experiment("first", {})); }),
      "set run.name or run.dir to another");
  EXPECT_NO_THROW(check_origin_is_another(place("first"), experiment("second", {})));
  EXPECT_CONTAINS(message_of([&] { train("first", {"train.duration=8ba"}, {.resume = true}); }),
                  "--from " + place("first").string());
}

}  // namespace
}  // namespace tessera
