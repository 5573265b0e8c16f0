// Runs one after another in one process, as a tuner makes them: each is what it would be alone.
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <csignal>
#include <cstdlib>
#include <mutex>

#include "core/error.h"
#include "core/files.h"
#include "core/rank_status.h"
#include "core/signals.h"
#include "dist/thread_ranks.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"
#include "train/run.h"

namespace tessera {
namespace {

using testing::TempFolder;

// Ten steps in all, of which eval.every and checkpoint.every leave some out. The schedule falls over the whole run, so that a
// run that took a rung for its end would have other weights.
Experiment ten_steps(const fs::path& folder, const std::vector<std::string>& more = {}) {
  std::vector<std::string> overrides{"train.duration=10ba",        "eval.every=4ba",          "checkpoint.every=100ba",
                                     "run.dir=" + folder.string(), "run.tensorboard=false",   "train.device=cpu",
                                     "schedule.type=poly",         "train.ema.half_life=5ba", "run.pictures=1"};
  overrides.insert(overrides.end(), more.begin(), more.end());
  return testing::tiny_experiment(overrides);
}

RunResult run_alone(const Experiment& experiment, const RunOptions& options = {}) {
  World alone;
  Hooks none;
  RunOptions without_report = options;  // there is no log to make one of
  without_report.report = false;
  return run_training(experiment, without_report, alone, none);
}

// The bytes of everything that a run has learned.
std::string learned(const fs::path& run, int64_t step = 10) {
  std::string all;
  for (const char* file : {"model.safetensors", "optimizer.safetensors", "ema.safetensors"})
    all += read_text(run / "checkpoints" / checkpoint_name(step) / file);
  return all;
}

// Asks to stop after a step, or once an evaluation came.
class Stopper : public Hook {
 public:
  explicit Stopper(int64_t after_step, bool at_evaluation = false) : after_(after_step), at_evaluation_(at_evaluation) {}
  void on_step(int64_t step) override { step_ = step; }
  void on_log(const LogLine& line) override { step_ = line.step; }
  void on_eval(const TrainState& state, double, const EvalResult&) override { evaluated_ = state.step; }
  std::string wants_stop() const override { return (at_evaluation_ ? evaluated_ : step_) >= after_ ? "the pruner" : ""; }

 private:
  int64_t after_;
  bool at_evaluation_;
  int64_t step_ = 0, evaluated_ = 0;
};

// What a hook was told, a word each.
class Recorder : public Hook {
 public:
  void on_start(const RunInfo& info) override { say("start at", info.progress.step); }
  void on_eval(const TrainState& state, double, const EvalResult&) override { say("eval", state.step); }
  void on_checkpoint(const TrainState& state) override { say("save", state.step); }
  void on_end(const TrainState& state, const std::string& status) override { say(status, state.step); }
  void on_pictures(const TrainState& state, const std::vector<DrawnPrediction>& best,
                   const std::vector<DrawnPrediction>& worst) override {
    EXPECT_EQ(best.size(), 1);
    EXPECT_EQ(worst.size(), 1);
    say("pictures", state.step);
  }
  std::string heard;

 private:
  void say(const std::string& what, int64_t step) { heard += (heard.empty() ? "" : ", ") + what + " " + std::to_string(step); }
};

// A folder that a test's child process knows, too: it runs the test again up to its own part of it.
fs::path folder_of_test() {
  if (const char* made = std::getenv("TESSERA_MANY_RUNS")) return made;
  std::string pattern = (fs::temp_directory_path() / "tessera-XXXXXX").string();
  setenv("TESSERA_MANY_RUNS", ::mkdtemp(pattern.data()), 1);
  return pattern;
}

[[noreturn]] void train_and_exit(const Experiment& experiment) {
  run_alone(experiment);
  std::_Exit(0);
}

TEST(ManyRunsDeathTest, EachOfTwoRunsIsTheRunThatIsAloneInItsProcess) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const fs::path folder = folder_of_test();
  const auto first = [&](const std::string& name) { return ten_steps(folder / name); };
  const auto second = [&](const std::string& name) {
    return ten_steps(folder / name, {"train.seed=7", "optimizer.type=adamw", "optimizer.lr=0.01"});
  };
  EXPECT_EXIT(train_and_exit(first("first_alone")), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(train_and_exit(second("second_alone")), ::testing::ExitedWithCode(0), "");
  run_alone(first("first"));
  run_alone(second("second"));
  EXPECT_EQ(learned(folder / "first"), learned(folder / "first_alone"));
  EXPECT_EQ(learned(folder / "second"), learned(folder / "second_alone"));
  EXPECT_NE(learned(folder / "first"), learned(folder / "second"));
  fs::remove_all(folder);
  unsetenv("TESSERA_MANY_RUNS");
}

TEST(ManyRuns, ARunThatDivergesHarmsNoneAfterIt) {
  const TempFolder folder;
  run_alone(ten_steps(folder / "before"));
  const int threads = at::get_num_threads();
  EXPECT_THROW(run_alone(ten_steps(folder / "failed", {"optimizer.lr=1e30", "train.threads=" + std::to_string(threads + 1)})),
               Diverged);
  EXPECT_NE(std::string(rank_status().error).find("finite"), std::string::npos) << rank_status().error;
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_EQ(run_alone(ten_steps(folder / "after")).end, RunEnd::kDone);
  EXPECT_STREQ(rank_status().error, "");
  EXPECT_EQ(learned(folder / "after"), learned(folder / "before"));
}

// What losses and optimizers keep between steps is in a checkpoint.
TEST(ManyRuns, AResumedRunEndsInTheSameBitsWithAnyLossAndOptimizer) {
  const TempFolder folder;
  int number = 0;
  for (const std::vector<std::string>& settings : std::vector<std::vector<std::string>>{
           {"optimizer.type=lars", "optimizer.trust_coefficient=0.1", "loss.terms=[{ohem: {class_weights: auto}}, lovasz]"},
           {"optimizer.type=lion", "optimizer.lr=0.001",
            "loss.terms=[{focal: {class_weights: effective_number}}, boundary_ce]"},
           {"loss.terms=[ce, {tversky: {gamma: 0.75}}]", "model.unet.deep_supervision=1", "train.mixup.alpha=0.4"}}) {
    const std::string name = std::to_string(number++);
    run_alone(ten_steps(folder / (name + "-whole"), settings));
    const Experiment experiment = ten_steps(folder / name, settings);
    run_alone(experiment, {.stop_at = Duration::parse("4ba")});
    run_alone(experiment, {.resume = true});
    EXPECT_EQ(learned(folder / name), learned(folder / (name + "-whole"))) << settings[0];
  }
}

TEST(ManyRuns, AHookStopsARunWhichGoesOnAsIfItHadNot) {
  const TempFolder folder;
  run_alone(ten_steps(folder / "whole"));
  for (const bool at_evaluation : {false, true}) {
    const fs::path run = folder / (at_evaluation ? "pruned" : "stopped");
    World alone;
    Hooks hooks;
    const Recorder& recorder = hooks.add(std::make_unique<Recorder>());
    hooks.add(std::make_unique<Stopper>(at_evaluation ? 4 : 3, at_evaluation));
    const RunResult result = run_training(ten_steps(run), {}, alone, hooks);
    EXPECT_EQ(result.end, RunEnd::kHook);
    EXPECT_EQ(result.stop_reason, "the pruner");
    EXPECT_EQ(result.signal, 0);
    EXPECT_EQ(recorder.heard, at_evaluation ? "start at 0, eval 4, save 4, stopped by the pruner 4"
                                            : "start at 0, save 3, stopped by the pruner 3");
    EXPECT_EQ(run_alone(ten_steps(run), {.resume = true}).end, RunEnd::kDone);
    EXPECT_EQ(learned(run), learned(folder / "whole"));
  }
}

// Its evaluation there is neither the best nor one without a better one: early stopping would come at another step.
TEST(ManyRuns, ARunThatStopsAtAStepGoesOnAsIfItHadNot) {
  const TempFolder folder;
  const auto run = [&](const std::string& name) {
    return ten_steps(folder / name, {"checkpoint.early_stop=1", "eval.every=5ba"});
  };
  const RunResult whole = run_alone(run("whole"));
  World alone;
  Hooks hooks;
  const Recorder& recorder = hooks.add(std::make_unique<Recorder>());
  RunResult part = run_training(run("rungs"), {.stop_at = Duration::batches(3)}, alone, hooks);
  EXPECT_EQ(recorder.heard, "start at 0, save 3, eval 3, paused 3, pictures 3");
  EXPECT_EQ(part.end, RunEnd::kPaused);
  EXPECT_EQ(part.state.step, 3);
  EXPECT_FALSE(part.state.best_value);
  ASSERT_TRUE(part.last_eval);
  EXPECT_EQ(part.last_eval->num_images, 6);
  EXPECT_THROW(run_alone(run("rungs"), {.stop_at = Duration::batches(5)}), UsageError);  // holds a run: not resumed

  part = run_alone(run("rungs"), {.resume = true, .stop_at = Duration::share(0.5)});
  EXPECT_EQ(part.state.step, 5);
  EXPECT_EQ(part.state.best_step, 5);  // an evaluation that was due anyway
  part = run_alone(run("rungs"), {.resume = true, .stop_at = Duration::batches(2)});
  EXPECT_EQ(part.state.step, 5);
  part = run_alone(run("rungs"), {.resume = true, .stop_at = Duration::epochs(100)});
  EXPECT_EQ(part.end, whole.end);
  EXPECT_EQ(part.state.step, whole.state.step);
  EXPECT_EQ(part.state.best_step, whole.state.best_step);
  EXPECT_EQ(part.state.best_value, whole.state.best_value);
  EXPECT_EQ(learned(folder / "rungs"), learned(folder / "whole"));
  EXPECT_EQ(read_text(folder / "rungs/checkpoints/best.json"), read_text(folder / "whole/checkpoints/best.json"));
}

// What these do in a step follows from the step alone, or is in the checkpoint.
TEST(ManyRuns, AlgorithmsOfTrainingGoOnAsIfTheyHadNotStopped) {
  const std::vector<std::vector<std::string>> settings{
      {"train.sam.rho=0.1", "train.sam.interval=2", "model.unet.dropout=0.2"},
      {"train.ema.half_life=0ba", "train.swa.start=3ba", "train.swa.update_interval=2ba", "train.swa.lr=0.01",
       "train.swa.anneal=4ba"},
      {"train.precise_bn.batches=2", "train.mixup.alpha=0.3"},
      {"train.progressive_resizing={initial_scale: 0.5, delay_fraction: 0.2}", "train.precise_bn.batches=1"},
      {"train.progressive_resizing={initial_scale: 0.5, mode: crop}", "optimizer.type=adamw",
       "model.freeze=['classifier until 4ba']"},
      {"train.layer_freezing={level: 1, start: 0.1dur}", "optimizer.type=lamb", "model.freeze=['down0 from 2ba until 6ba']"}};
  for (size_t i = 0; i < settings.size(); ++i) {
    const TempFolder folder;
    run_alone(ten_steps(folder / "whole", settings[i]));
    for (const int stop : {2, 4, 7}) {
      const fs::path run = folder / ("stopped" + std::to_string(stop));
      run_alone(ten_steps(run, settings[i]), {.stop_at = Duration::batches(stop)});
      run_alone(ten_steps(run, settings[i]), {.resume = true});
      EXPECT_EQ(learned(run), learned(folder / "whole")) << settings[i][0] << ", stopped at " << stop;
    }
  }
}

TEST(ManyRuns, ShareTheDataTheyWereGiven) {
  const TempFolder folder;
  run_alone(ten_steps(folder / "own"));
  const RunData data = open_run_data(ten_steps(folder / "any"));
  for (const std::string name : {"one", "two"}) {
    // Another transform would be another run, but reads the same samples.
    run_alone(ten_steps(folder / name, {"data.threads=1"}), {.data = data});
    EXPECT_EQ(learned(folder / name), learned(folder / "own"));
  }
  const auto refused = [&](const std::string& key) {
    try {
      run_alone(ten_steps(folder / "refused", {key}), {.data = data});
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("data.synthetic.seed=3").find("data.synthetic.seed: opened with 0, the experiment says 3"),
            std::string::npos);
  EXPECT_NE(refused("data.train.count=8").find("data.train.count"), std::string::npos);
  EXPECT_NO_THROW(check_run_data(data, ten_steps("any", {"data.train.transforms=[flip]", "data.normalize.mode=per_image"})));
  EXPECT_FALSE(fs::exists(folder / "refused"));
}

TEST(ManyRuns, AHookOfTheFirstRankStopsAllRanks) {
  const TempFolder folder;
  const int threads = at::get_num_threads();
  std::mutex mutex;
  std::vector<RunResult> results;
  run_on_threads(2, /*cuda=*/false, std::chrono::seconds(60), [&](World& world) {
    Hooks hooks;
    if (world.is_first()) hooks.add(std::make_unique<Stopper>(3));
    RunResult result = run_training(ten_steps(folder / "run"), {}, world, hooks);
    const std::lock_guard lock(mutex);
    results.push_back(std::move(result));
  });
  ASSERT_EQ(results.size(), 2);
  for (const RunResult& result : results) {
    EXPECT_EQ(result.end, RunEnd::kHook);
    EXPECT_EQ(result.state.step, 3);
  }
  EXPECT_EQ(at::get_num_threads(), threads);
  EXPECT_TRUE(fs::exists(folder / "run/checkpoints/step-00000003/DONE"));
}

// 0: as expected.
int stop_between_runs() {
  const TempFolder folder;
  run_alone(ten_steps(folder / "first"), {.stop_at = Duration::batches(5)});
  const std::string saved = learned(folder / "first", 5);
  std::raise(SIGTERM);
  for (const auto& [name, step] : {std::pair<std::string, int64_t>{"first", 5}, {"second", 0}}) {
    const RunResult stopped = run_alone(ten_steps(folder / name), {.resume = true});
    const bool by_signal = stopped.end == RunEnd::kSignal && stopped.signal == SIGTERM && stopped.status() == "stopped";
    if (!by_signal || stopped.state.step != step) return 1;
  }
  return learned(folder / "first", 5) == saved ? 0 : 2;
}

TEST(ManyRunsDeathTest, ASignalBetweenTwoRunsStopsTheSecondAtOnce) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(std::_Exit(stop_between_runs()), ::testing::ExitedWithCode(0), "");
  EXPECT_EQ(stop_signal(), 0);
}

}  // namespace
}  // namespace tessera
