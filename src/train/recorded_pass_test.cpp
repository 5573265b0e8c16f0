#include "train/recorded_pass.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace tessera {
namespace {

int recordings = 0, replays = 0;

// Counts instead of doing anything: kernels are only recorded on a GPU, see TrainStepGpu.
class Counted final : public RecordedWork {
 public:
  void replay() override { ++replays; }
  int64_t bytes() const override { return 0; }
};

std::unique_ptr<RecordedWork> count(int /*device*/, const std::function<void()>& work) {
  ++recordings;
  work();  // which makes the output
  return std::make_unique<Counted>();
}

std::unique_ptr<RecordedWork> refuse(int /*device*/, const std::function<void()>& work) {
  ++recordings;
  work();
  TORCH_CHECK(false, "no memory left");
}

class RecordedPassTest : public ::testing::Test {
 protected:
  void SetUp() override { recordings = replays = 0; }

  at::Tensor run(RecordedPass& pass, double value, int64_t size = 2) {
    at::Tensor x = torch::full({size}, value), none;
    const at::Tensor before = x;
    const at::Tensor y = pass.run({&x, &none}, [&] {
      ++bodies_;
      read_ = x;
      return x * 2;
    });
    EXPECT_TRUE(x.is_same(before)) << "the caller has its own tensor again";
    return y;
  }

  int bodies_ = 0;
  at::Tensor read_;
};

TEST_F(RecordedPassTest, ThePassAfterThreeIsRecordedAndReplayedFromThenOn) {
  RecordedPass pass(at::kCPU, count);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(pass, i)[0].item<double>(), 2 * i);
  EXPECT_EQ(recordings, 0);
  run(pass, 3);
  EXPECT_EQ(recordings, 1);
  EXPECT_EQ(replays, 1);
  const at::Tensor read = read_;
  run(pass, 5);
  EXPECT_EQ(bodies_, 4);
  EXPECT_EQ(replays, 2);
  EXPECT_EQ(read[0].item<double>(), 5) << "the recorded pass finds its input where it was";
}

TEST_F(RecordedPassTest, OtherShapesAreRecordedAnew) {
  RecordedPass pass(at::kCPU, count);
  for (int i = 0; i < 5; ++i) run(pass, i);
  EXPECT_EQ(run(pass, 7, 3).size(0), 3);
  EXPECT_EQ(bodies_, 5);
  for (int i = 0; i < 5; ++i) run(pass, i, 3);
  EXPECT_EQ(recordings, 2);
}

TEST_F(RecordedPassTest, ShapesThatKeepChangingAreRunInTheEnd) {
  RecordedPass pass(at::kCPU, count);
  for (int64_t size = 1; size < 9; ++size) {
    for (int i = 0; i < 5; ++i) run(pass, i, size);
  }
  EXPECT_EQ(recordings, 3);
  EXPECT_EQ(run(pass, 4, 9)[8].item<double>(), 8);
}

// As images that grow do in a run: each size serves many steps.
TEST_F(RecordedPassTest, ShapesThatStayForLongAreRecordedEachTime) {
  RecordedPass pass(at::kCPU, count);
  for (int64_t size = 1; size < 9; ++size) {
    for (int i = 0; i < 60; ++i) run(pass, i, size);
  }
  EXPECT_EQ(recordings, 8);
}

TEST_F(RecordedPassTest, WhatCannotBeRecordedIsRun) {
  RecordedPass pass(at::kCPU, refuse);
  for (int i = 0; i < 6; ++i) EXPECT_EQ(run(pass, i)[1].item<double>(), 2 * i);
  EXPECT_EQ(recordings, 1) << "it is not tried again";
  EXPECT_EQ(bodies_, 7);
}

TEST_F(RecordedPassTest, WithoutARecorderPassesAreRun) {
  RecordedPass pass(at::kCPU, nullptr);
  for (int i = 0; i < 6; ++i) run(pass, i);
  EXPECT_EQ(bodies_, 6);
}

}  // namespace
}  // namespace tessera
