// With jobs of this machine that are shell commands, started and found by the executor itself.
#include "study/scale/follow_trials.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "core/error.h"
#include "core/files.h"
#include "core/signals.h"
#include "study/executor/local_executor.h"

namespace tessera {
namespace {

class TrialFollowerTest : public ::testing::Test {
 public:
  ~TrialFollowerTest() override { fs::remove_all(folder_); }

 protected:
  TrialFollowerTest() : folder_(fs::temp_directory_path() / fmt::format("follow_trials_{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }

  // A training on one rank: a command in the folder of its run.
  ScaleTrial trial(int64_t repeat, const std::string& command) const {
    const ScaleCell cell{.mode = ParallelMode::kNone, .ranks = 1, .repeat = repeat};
    return {.cell = cell,
            .arguments = {fmt::format("mkdir -p {0} && cd {0}; {1}", ScaleFolders{folder_}.run(cell).string(), command)}};
  }
  fs::path run(int64_t repeat) const { return ScaleFolders{folder_}.run({.mode = ParallelMode::kNone, .repeat = repeat}); }
  ScaleState state(const std::vector<ScaleTrial>& trials) const {
    ScaleState state(folder_ / "study.json");
    state.take(trials);
    return state;
  }
  void follow(ScaleState& state, int64_t at_once = 0) const {
    LocalExecutor executor({"/bin/sh", "-c"});
    TrialFollower follower({folder_}, {.name = "s", .at_once = at_once, .retries = 2}, state, executor);
    for (int i = 0; i < 30000 && follower.step(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  fs::path folder_;
};

// Saves a checkpoint of the given step, as a training does.
constexpr const char* kSave = "mkdir -p checkpoints/step-{0:08} && touch checkpoints/step-{0:08}/DONE; ";

TEST_F(TrialFollowerTest, OneThatWasCutOffGoesOnUntilItIsComplete) {
  ScaleState all =
      state({trial(0,
                   "echo x >> starts; n=$(wc -l < starts); mkdir -p checkpoints/step-$n; touch checkpoints/step-$n/DONE; "
                   "[ $n -ge 5 ] || exit 143")});
  follow(all);
  EXPECT_EQ(all.trials()[0].state, TrialState::kComplete);
  EXPECT_EQ(all.trials()[0].attempt, 5);  // more than it may be without progress
  EXPECT_EQ(all.trials()[0].step, 5);
  EXPECT_EQ(read_text(run(0) / "starts"), "x\nx\nx\nx\nx\n");
}

TEST_F(TrialFollowerTest, OneThatGetsNoFurtherIsGivenUp) {
  ScaleState all =
      state({trial(0, std::string("echo x >> starts; echo no memory; ") + fmt::format(fmt::runtime(kSave), 7) + "exit 137")});
  follow(all);
  EXPECT_EQ(all.trials()[0].state, TrialState::kFailed);
  EXPECT_EQ(all.trials()[0].attempt, 4);  // the first one saved something
  EXPECT_EQ(all.trials()[0].reason, "exit code 137: no memory");
}

TEST_F(TrialFollowerTest, WhatFailsByItselfIsNotTriedAgainAndTheOthersGoOn) {
  ScaleState all = state({trial(0, "echo x >> starts; echo no data >&2; exit 1"), trial(1, "true"), trial(2, "exit 2")});
  follow(all);
  EXPECT_EQ(all.trials()[0].state, TrialState::kFailed);
  EXPECT_EQ(all.trials()[0].reason, "exit code 1: no data");
  EXPECT_EQ(all.trials()[0].attempt, 1);
  EXPECT_EQ(all.trials()[1].state, TrialState::kComplete);
  EXPECT_EQ(all.trials()[2].state, TrialState::kFailed);
}

TEST_F(TrialFollowerTest, NoMoreThanAskedForRunAtOnce) {
  const std::string alone = fmt::format("mkdir {0}/alone || exit 1; sleep 0.1; rmdir {0}/alone", folder_.string());
  ScaleState all = state({trial(0, alone), trial(1, alone), trial(2, alone)});
  follow(all, 1);
  for (const ScaleTrial& each : all.trials()) EXPECT_EQ(each.state, TrialState::kComplete) << each.reason;
}

// The controller is killed between writing a job down and starting it, and again and again while it runs.
TEST_F(TrialFollowerTest, AKilledControllerLosesAndDoublesNothing) {
  std::vector<ScaleTrial> trials;
  for (int64_t repeat = 0; repeat < 4; ++repeat) trials.push_back(trial(repeat, "echo x >> starts; sleep 0.15"));
  ScaleState written = state(trials);
  written.trials()[0].state = TrialState::kRunning;
  written.trials()[0].attempt = 1;
  written.save();
  for (int kills = 0; kills < 10; ++kills) {
    const pid_t controller = fork();
    if (controller == 0) {
      ScaleState own = state(trials);
      follow(own, 2);
      _exit(0);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(17 * (kills % 4) + 3));
    kill(controller, SIGKILL);
    waitpid(controller, nullptr, 0);
  }
  ScaleState last = state(trials);
  follow(last, 2);
  for (const ScaleTrial& each : last.trials()) {
    EXPECT_EQ(each.state, TrialState::kComplete) << each.reason;
    EXPECT_EQ(each.attempt, 1);
    EXPECT_EQ(read_text(run(each.cell.repeat) / "starts"), "x\n");
  }
}

// The place of the jobs fails once: nothing is lost.
TEST_F(TrialFollowerTest, APlaceThatFailsLosesNothing) {
  class Refusing final : public Executor {
   public:
    void start(const Job& job) override {
      if (!std::exchange(refused_, true)) fail("no place today");
      local_.start(job);
    }
    JobStatus poll(const Job& job) override { return local_.poll(job); }
    void stop(const Job& job) override { local_.stop(job); }
    std::optional<int> most_at_once(const Job& /*job*/) const override { return 1; }

   private:
    LocalExecutor local_{std::vector<std::string>{"/bin/sh", "-c"}};
    bool refused_ = false;
  } executor;
  ScaleState all = state({trial(0, "echo x >> starts")});
  TrialFollower follower({folder_}, {.name = "s"}, all, executor);
  EXPECT_THROW(follower.step(), Error);
  ScaleState again = state({trial(0, "echo x >> starts")});
  TrialFollower later({folder_}, {.name = "s"}, again, executor);
  for (int i = 0; i < 30000 && later.step(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(again.trials()[0].state, TrialState::kComplete);
  EXPECT_EQ(read_text(run(0) / "starts"), "x\n");
}

TEST_F(TrialFollowerTest, ADiskThatIsFullEndsTheStudyAndWithRoomItGoesOn) {
  const std::string needs_room =
      fmt::format("echo x >> starts; [ -e {}/room ] && exit 0; echo No space left on device; exit 1", folder_.string());
  ScaleState all = state({trial(0, needs_room), trial(1, needs_room)});
  EXPECT_THROW(follow(all, 1), Error);
  EXPECT_EQ(read_text(run(0) / "starts"), "x\nx\n");  // there might have been room by then
  write_file(folder_ / "room", std::string_view("x"));
  ScaleState later = state({trial(0, needs_room), trial(1, needs_room)});
  follow(later, 1);
  for (const ScaleTrial& each : later.trials()) EXPECT_EQ(each.state, TrialState::kComplete) << each.reason;
  EXPECT_EQ(read_text(run(0) / "starts"), "x\nx\nx\n");
}

TEST_F(TrialFollowerTest, StoppedOnesSaveAndGoOnLater) {
  ScaleState all =
      state({trial(0, fmt::format("echo x >> starts; [ $(wc -l < starts) = 2 ] && exit 0; trap '{} exit 143' TERM; touch up; "
                                  "while :; do sleep 0.02; done",
                                  fmt::format(fmt::runtime(kSave), 3)))});
  LocalExecutor executor({"/bin/sh", "-c"});
  TrialFollower follower({folder_}, {.name = "s"}, all, executor);
  follower.step();
  for (int i = 0; i < 30000 && !fs::exists(run(0) / "up"); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  follower.stop();
  follow(all);
  EXPECT_EQ(all.trials()[0].state, TrialState::kComplete);
  EXPECT_EQ(all.trials()[0].attempt, 2);
  EXPECT_EQ(all.trials()[0].step, 3);
}

}  // namespace
}  // namespace tessera
