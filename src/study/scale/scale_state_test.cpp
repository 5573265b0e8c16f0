#include "study/scale/scale_state.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/error.h"
#include "core/files.h"

namespace tessera {
namespace {

class ScaleStateTest : public ::testing::Test {
 protected:
  ScaleStateTest() : file_(fs::temp_directory_path() / fmt::format("scale_state_{}.json", ::getpid())) { fs::remove(file_); }
  ~ScaleStateTest() override { fs::remove(file_); }
  static ScaleTrial trial(int64_t ranks, const std::string& argument = "train") {
    return {.cell = {.model = "a", .mode = ParallelMode::kZero1, .ranks = ranks, .repeat = 1}, .arguments = {argument}};
  }
  fs::path file_;
};

TEST_F(ScaleStateTest, IsReadAsItWasWritten) {
  ScaleState state(file_);
  state.take({trial(1), trial(2)});
  ScaleTrial& first = state.trials()[0];
  first.state = TrialState::kFailed;
  first.attempt = 3;
  first.fruitless = 2;
  first.step = 40;
  first.reason = "exit code 1: no \"data\"\n";
  state.save();
  const ScaleState again(file_);
  ASSERT_EQ(again.trials().size(), 2U);
  const ScaleTrial& read = again.trials()[0];
  EXPECT_EQ(read.cell, first.cell);
  EXPECT_EQ(read.arguments, first.arguments);
  EXPECT_EQ(read.state, TrialState::kFailed);
  EXPECT_EQ(read.attempt, 3);
  EXPECT_EQ(read.fruitless, 2);
  EXPECT_EQ(read.step, 40);
  EXPECT_EQ(read.reason, first.reason);
  EXPECT_EQ(again.trials()[1].state, TrialState::kWaiting);
}

TEST_F(ScaleStateTest, AStudyMayGrow) {
  ScaleState state(file_);
  state.take({trial(1)});
  state.trials()[0].state = TrialState::kComplete;
  state.trials()[0].attempt = 1;
  state.take({trial(1), trial(2)});
  ASSERT_EQ(state.trials().size(), 2U);
  EXPECT_EQ(state.trials()[0].state, TrialState::kComplete);
  state.take({trial(3)});  // what was not begun goes
  ASSERT_EQ(state.trials().size(), 2U);
  EXPECT_EQ(state.trials()[0].cell.ranks, 1);
  EXPECT_EQ(state.trials()[1].cell.ranks, 3);
}

TEST_F(ScaleStateTest, WhatFailedMayBeTriedAgain) {
  ScaleState state(file_);
  state.take({trial(1), trial(2)});
  state.trials()[0].state = TrialState::kFailed;
  state.trials()[0].attempt = state.trials()[0].fruitless = 4;
  state.trials()[1].state = TrialState::kComplete;
  state.forgive();
  EXPECT_EQ(state.trials()[0].state, TrialState::kWaiting);
  EXPECT_EQ(state.trials()[0].attempt, 4);  // its next job has a name of its own
  EXPECT_EQ(state.trials()[0].fruitless, 0);
  EXPECT_EQ(state.trials()[1].state, TrialState::kComplete);
}

TEST_F(ScaleStateTest, OtherSettingsAreAnotherStudy) {
  ScaleState state(file_);
  state.take({trial(1), trial(2)});
  state.trials()[0].attempt = 1;
  EXPECT_THROW(state.take({trial(1, "train lr=2")}), UsageError);
  state.take({trial(2, "train lr=2")});  // nothing was started of it
  EXPECT_EQ(state.trials()[1].arguments, std::vector<std::string>{"train lr=2"});
}

TEST_F(ScaleStateTest, ADamagedFileSaysSo) {
  for (const char* text : {"{\"trials\": [", "[]", "{\"trials\": [{\"model\": 3}]}"}) {
    write_file(file_, std::string_view(text));
    EXPECT_THROW(ScaleState state(file_), Error) << text;
  }
}

}  // namespace
}  // namespace tessera
