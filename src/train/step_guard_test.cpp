// Numbers that are not finite, put in at one operation of one step or by one image: what each policy makes of it.
#include "train/step_guard.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include <atomic>
#include <mutex>
#include <set>

#include "core/files.h"
#include "core/rank_status.h"
#include "dist/thread_ranks.h"
#include "report/run_history.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "tensor/op_observer.h"
#include "train/hooks/record.h"
#include "train/output_watch.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::FixedDataset;
using testing::TempFolder;

// While it lives, the n-th operation of this name gives NaN in the steps named, each time that they are computed.
class Poison {
 public:
  // only: tells whether an output is one to spoil; without it, all are.
  Poison(std::string op, std::set<int64_t> steps, std::function<bool(const at::Tensor&)> only = {})
      : op_(std::move(op)), steps_(std::move(steps)), only_(std::move(only)), observer_(OpObserver::Threads::kAll, starts()) {}

 private:
  OpObserver::Start starts() {
    return [this](std::string_view name, OpValues) -> OpObserver::Finish {
      if (name != op_ || !steps_.contains(rank_status().step)) return nullptr;
      return [this](OpValues outputs) {
        if (outputs.empty() || !outputs[0].isTensor()) return;
        const at::Tensor output = outputs[0].toTensor();
        if (!output.defined() || (only_ && !only_(output))) return;
        AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, output.scalar_type(), "poison", [&] {
          output.mutable_data_ptr<scalar_t>()[0] = std::numeric_limits<scalar_t>::quiet_NaN();
        });
      };
    };
  }

  std::string op_;
  std::set<int64_t> steps_;
  std::function<bool(const at::Tensor&)> only_;
  OpObserver observer_;
};

class GuardEvents : public Hook {
 public:
  void on_guard(const GuardEvent& event) override { events.push_back(event); }
  void on_log(const LogLine& line) override { lines.push_back(line); }
  std::vector<GuardEvent> events;
  std::vector<LogLine> lines;
};

Experiment ten_steps(const fs::path& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"train.duration=10ba",        "eval.every=5ba",        "checkpoint.every=5ba",
                                     "run.dir=" + folder.string(), "run.tensorboard=false", "train.device=cpu",
                                     "train.ema.half_life=5ba",    "run.pictures=0",        "optimizer.type=adamw",
                                     "optimizer.lr=0.003"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::tiny_experiment(overrides);
}

struct Outcome {
  RunResult result;
  std::vector<GuardEvent> events;
  std::vector<LogLine> lines;
};

Outcome run_on(int ranks, const Experiment& experiment, const RunOptions& options = {}) {
  RunOptions own = options;
  own.report = false;
  Outcome outcome;
  const auto body = [&](World& world) {
    Hooks hooks;
    GuardEvents& seen = hooks.add(std::make_unique<GuardEvents>());
    RunResult result = run_training(experiment, own, world, hooks);
    if (world.is_first()) outcome = {std::move(result), seen.events, seen.lines};
  };
  if (ranks == 1) {
    World alone;
    body(alone);
  } else {
    run_on_threads(ranks, false, std::chrono::seconds(120), body);
  }
  return outcome;
}

std::string learned(const fs::path& run, int64_t step) {
  std::string all;
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"})
    all += read_text(run / "checkpoints" / checkpoint_name(step) / file);
  return all;
}

// A batch is left out as if it had not come: steps of a run by hand, where one of them is not taken.
TEST(StepGuard, AStepLeftOutChangesNothing) {
  for (const char* precision : {"fp32", "fp64", "bf16"}) {
    const Experiment e = testing::tiny_experiment({std::string("train.precision=") + precision, "optimizer.type=adamw",
                                                   "train.ema.half_life=5ba", "model.unet.dropout=0.3"});
    const Batch batch = testing::first_batch(e);
    const auto state_after = [&](bool poisoned) {
      TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
      for (int64_t i = 0; i < 6; ++i) {
        if (i == 3 && !poisoned) continue;
        std::optional<Poison> poison;
        if (i == 3) poison.emplace("aten::convolution", std::set<int64_t>{3});
        step.run(batch, {i, 6, 2});
        step.scaler().release();
      }
      EXPECT_EQ(step.scaler().read().skipped_steps, poisoned ? 1 : 0) << precision;
      EXPECT_EQ(step.scaler().read().applied_steps, 5) << precision;
      std::vector<at::Tensor> all{step.arena().params().clone(), step.arena().buffers().clone()};
      for (const auto& entry : step.optimizer().own_state()) all.push_back(entry.second.clone());
      for (const at::Tensor& tensor : step.average().tensors()) all.push_back(tensor.clone());
      return all;
    };
    const auto with = state_after(true), without = state_after(false);
    ASSERT_EQ(with.size(), 6U);
    for (size_t i = 0; i < with.size(); ++i) {
      EXPECT_TRUE(with[i].isfinite().all().item<bool>());
      EXPECT_TRUE(with[i].equal(without[i])) << precision << " tensor " << i;
    }
  }
}

// Nobody looks for two steps: they change nothing, and are taken once the one that went wrong is out of the way.
TEST(StepGuard, LookingLateLosesNothing) {
  const Experiment e = testing::tiny_experiment({"optimizer.type=adamw", "train.ema.half_life=5ba"});
  const DatasetPtr data = make_dataset(e.data, Split::kTrain);
  const Pipeline pipeline = make_pipeline(e.data, Split::kTrain);
  const auto params_after = [&](int late) {
    const Poison poison("aten::convolution", {2, 5});
    Quarantine quarantine(data->size(), 0.0);
    World alone;
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
    Loader loader(*data, pipeline, quarantine, {.batch_size = e.train.batch_size, .seed = 1}, 0);
    StepGuard guard(e.guard, step, alone, *data, late);
    std::vector<GuardEvent> spikes;
    std::vector<int64_t> held_steps;
    for (int64_t i = 0; i < 8; ++i) {
      const Batch batch = loader.next();
      const Progress at{i, 8, 2};
      guard.watch(batch, at, step.run(batch, at));
      while (const auto held = guard.next_held(i == 7, spikes)) {
        held_steps.push_back(held->at.step);
        EXPECT_NE(guard.find_cause(*held).place.find("aten::"), std::string::npos);
        guard.leave_out(*held);
      }
    }
    EXPECT_EQ(held_steps, (std::vector<int64_t>{2, 5}));
    EXPECT_EQ(step.scaler().read().skipped_steps, 2);
    return step.arena().params().clone();
  };
  const at::Tensor at_once = params_after(0);
  EXPECT_TRUE(params_after(1).equal(at_once));
  EXPECT_TRUE(params_after(2).equal(at_once));
}

TEST(StepGuard, NamesTheFirstLayerThatGoesWrong) {
  const Experiment e = testing::tiny_experiment({"train.norm_group=4"});
  const Batch batch = testing::first_batch(e);
  const auto cause = [&](const std::string& op, std::function<bool(const at::Tensor&)> only) {
    const Poison poison(op, {0}, std::move(only));
    TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
    step.run(batch, {0, 10, 2});
    const at::Tensor before = step.arena().params().clone();
    const NonFiniteCause found = step.find_nonfinite(batch, {0, 10, 2});
    EXPECT_TRUE(step.arena().params().equal(before));
    EXPECT_TRUE(step.arena().buffers().isfinite().all().item<bool>());
    return found;
  };
  const auto of_channels = [](int64_t channels, int64_t height) {
    return [=](const at::Tensor& t) { return t.dim() == 4 && t.size(1) == channels && t.size(2) == height; };
  };
  // Of the two heights of the U-Net: the first convolution of the lower one.
  const NonFiniteCause lower = cause("aten::convolution", of_channels(8, 12));
  EXPECT_NE(lower.place.find("the output of "), std::string::npos) << lower.place;
  EXPECT_EQ(lower.rows, std::vector<int64_t>{0});
  const NonFiniteCause first = cause("aten::convolution", {});
  EXPECT_LT(first.order, lower.order);
  EXPECT_NE(first.place, lower.place);
  const NonFiniteCause gradient = cause("aten::convolution_backward", [](const at::Tensor& t) { return t.dim() == 4; });
  EXPECT_EQ(gradient.place.find("the gradient of "), 0U) << gradient.place;
}

TEST(StepGuard, EachPolicyDoesWhatItSays) {
  TempFolder folder;
  for (const char* policy : {"skip", "rollback", "stop"}) {
    const Experiment e = ten_steps(folder.path() / policy, {std::string("guard.nonfinite=") + policy, "guard.keep=3"});
    const Poison poison("aten::convolution", {7});
    if (std::string(policy) == "stop") {
      try {
        run_on(1, e);
        FAIL() << "the run went on";
      } catch (const Diverged& why) {
        const std::string text = why.what();
        for (const char* part : {"step 8 is not finite", "(aten::", "sample"})
          EXPECT_NE(text.find(part), std::string::npos) << text;
      }
      EXPECT_TRUE(is_complete_checkpoint(folder.path() / policy / "checkpoints" / checkpoint_name(5)));
      continue;
    }
    const Outcome outcome = run_on(1, e);
    EXPECT_EQ(outcome.result.end, RunEnd::kDone);
    std::vector<std::string> actions;
    for (const GuardEvent& event : outcome.events) actions.push_back(event.action);
    // fp32 as it is: what is computed again goes wrong again.
    const bool goes_back = std::string(policy) == "rollback";
    EXPECT_EQ(actions, goes_back ? (std::vector<std::string>{"gone back", "left out"}) : std::vector<std::string>{"left out"});
    EXPECT_EQ(outcome.events.back().step, 8);
    EXPECT_EQ(outcome.events.back().samples.size(), 1U);
    EXPECT_EQ(outcome.events.back().steps_lost, goes_back ? 2 : 1);
    EXPECT_EQ(outcome.events.front().back_to, goes_back ? 5 : -1);  // evaluated there, and kept
    EXPECT_EQ(outcome.lines.back().skipped_steps, goes_back ? 2 : 1);
  }
  EXPECT_EQ(learned(folder.path() / "skip", 10), learned(folder.path() / "rollback", 10));
}

// What only bf16 gets wrong is computed again in fp32, and no batch is lost.
TEST(StepGuard, GoingBackRepeatsInFp32) {
  TempFolder folder;
  const Poison poison("aten::convolution", {7}, [](const at::Tensor& t) { return t.scalar_type() == at::kBFloat16; });
  const Outcome outcome = run_on(1, ten_steps(folder.path() / "run", {"guard.nonfinite=rollback", "train.precision=bf16"}));
  ASSERT_EQ(outcome.events.size(), 1U);
  EXPECT_EQ(outcome.events[0].action, "gone back");
  EXPECT_EQ(outcome.events[0].back_to, 5);
  EXPECT_EQ(outcome.result.state.step, 10);
  EXPECT_EQ(outcome.result.state.optimizer_steps, 10);
  EXPECT_EQ(outcome.lines.size(), 13U);  // steps 6 to 8 twice
}

TEST(StepGuard, TooManyEndTheRun) {
  TempFolder folder;
  const Poison poison("aten::convolution", {1, 2, 4, 6});
  EXPECT_THROW(run_on(1, ten_steps(folder.path() / "three", {"guard.max_skips=3"})), Diverged);
  EXPECT_EQ(run_on(1, ten_steps(folder.path() / "four", {"guard.max_skips=4"})).events.size(), 4U);
  // A step that was gone back from and left out then is one step.
  const std::vector<std::string> back = {"guard.max_skips=4", "guard.nonfinite=rollback"};
  EXPECT_EQ(run_on(1, ten_steps(folder.path() / "back", back)).result.state.lost_steps, (std::vector<int64_t>{1, 2, 4, 6}));
}

// The last step before a stop is left out; the count goes on where it was.
TEST(StepGuard, AResumedRunIsTheRunThatWasNotStopped) {
  TempFolder folder;
  const Poison poison("aten::convolution", {3, 6});
  run_on(1, ten_steps(folder.path() / "whole"));
  const Experiment e = ten_steps(folder.path() / "parts");
  run_on(1, e, {.stop_at = Duration::batches(4)});
  const Outcome rest = run_on(1, e, {.resume = true});
  EXPECT_EQ(rest.result.state.skipped_steps, 2);
  EXPECT_EQ(rest.result.state.lost_steps, (std::vector<int64_t>{3, 6}));
  EXPECT_EQ(learned(folder.path() / "parts", 10), learned(folder.path() / "whole", 10));
}

Sample float_sample(int64_t number, bool huge) {
  Sample sample;
  sample.id = "image" + std::to_string(number);
  sample.image = Image(24, 24, 3);
  sample.image.max_value = 1;
  std::vector<float> pixels(sample.image.count());
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>((i * 7 + static_cast<size_t>(number)) % 11) / 11;
  if (huge) pixels[500] = 3e38F;
  sample.image.pixels = std::move(pixels);
  sample.labels = LabelMap(24, 24);
  for (size_t i = 0; i < sample.labels->labels.size(); ++i) sample.labels->labels[i] = static_cast<int16_t>(i / 24 % 3);
  return sample;
}

// Pixels that a file may hold, and that a network cannot: the batch is left out whoever computes it, and the sample is named.
TEST(StepGuard, AnImageThatOverflowsIsNamedOnAnyNumberOfRanks) {
  TempFolder folder;
  std::vector<Sample> samples;
  for (int64_t i = 0; i < 24; ++i) samples.push_back(float_sample(i, i == 13));
  std::vector<std::string> texts;
  for (const int ranks : {1, 2}) {
    for (const char* group : {"2", "8"}) {  // units whole, and spread over the ranks
      const Experiment e = ten_steps(folder.path() / fmt::format("{}-{}", ranks, group),
                                     {std::string("train.norm_group=") + group, "train.duration=1ep",
                                      "data.train.transforms=[]", "model.num_classes=3", "eval.every=0ep"});
      RunData data = open_run_data(e);
      data.train = std::make_shared<FixedDataset>(samples);
      data.val = std::make_shared<FixedDataset>(std::vector<Sample>{});
      const Outcome outcome = run_on(ranks, e, {.data = data});
      ASSERT_EQ(outcome.events.size(), 1U) << ranks << " ranks";
      EXPECT_EQ(outcome.events[0].samples, std::vector<std::string>{"image13"}) << outcome.events[0].text;
      texts.push_back(outcome.events[0].place);
      EXPECT_EQ(outcome.result.state.optimizer_steps, 2);
    }
  }
}

TEST(StepGuard, EventsAreInTheLogAndWhatWasGoneBackFromDoesNotCount) {
  TempFolder folder;
  const Experiment e = ten_steps(folder.path() / "run", {"guard.nonfinite=rollback"});
  World alone;
  Hooks hooks;
  hooks.add(std::make_unique<RunLogHook>());
  {
    const Poison poison("aten::convolution", {7});
    run_training(e, {.report = false}, alone, hooks);
  }
  const RunHistory history = read_run_log(folder.path() / "run" / "log.jsonl");
  EXPECT_EQ(history.train.size(), 10U);
  EXPECT_EQ(history.superseded_lines, 3);
  int64_t guards = 0;
  for (const RunEvent& event : history.events) guards += event.type == "guard" ? 1 : 0;
  EXPECT_EQ(guards, 2);
}

// Losses around 1 with a spread of some hundredths; then one of 3.
TEST(StepGuard, ALossThatStandsOutIsNotedOnce) {
  const Experiment e = testing::tiny_experiment();
  const DatasetPtr data = make_dataset(e.data, Split::kTrain);
  const Batch batch = testing::first_batch(e);
  World alone;
  TrainStep step(e, make_model(e.model, {3, 4}, 1), 4, at::kCPU);
  StepGuard guard(e.guard, step, alone, *data, 0);
  std::vector<GuardEvent> spikes;
  for (int64_t i = 0; i < 60; ++i) {
    const double loss = i == 40 || i == 41 ? 3 : 1 + 0.05 * static_cast<double>(i * 7 % 5 - 2);
    guard.watch(batch, {i, 60, 2}, {at::scalar_tensor(loss, at::kDouble), at::scalar_tensor(1, at::kDouble), 0});
    EXPECT_FALSE(guard.next_held(true, spikes));
  }
  ASSERT_EQ(spikes.size(), 1U);
  EXPECT_EQ(spikes[0].step, 41);
  EXPECT_EQ(spikes[0].action, "spike");
}

}  // namespace
}  // namespace tessera
