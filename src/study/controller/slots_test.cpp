#include "study/controller/slots.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(Slots, CoresAreDividedAmongTrialsFourEach) {
  EXPECT_EQ(Slots({}, {.cores = 2}, {}).most_at_once(), 1);
  EXPECT_EQ(Slots({}, {.cores = 2}, {}).cores_each(), 2);
  EXPECT_EQ(Slots({}, {.cores = 18}, {}).most_at_once(), 4);
  EXPECT_EQ(Slots({}, {.cores = 18}, {}).cores_each(), 4);
  EXPECT_EQ(Slots({.at_once = 6}, {.cores = 18}, {}).cores_each(), 3);
  EXPECT_EQ(Slots({.ranks = 2}, {.cores = 18}, {}).most_at_once(), 2);
  EXPECT_EQ(Slots({.cores = 9}, {.cores = 18}, {}).most_at_once(), 2);
}

TEST(Slots, MemoryThatTrialsWereSeenToNeedLimitsHowManyRun) {
  Slots slots({}, {.cores = 64, .memory_mb = 10000}, {});
  EXPECT_EQ(slots.most_at_once(), 16);
  slots.note_memory(3000);
  EXPECT_EQ(slots.most_at_once(), 3);
  slots.note_memory(100000);
  EXPECT_EQ(slots.most_at_once(), 1);
}

TEST(Slots, OneTrialOnEachGpuUntilItIsKnownWhatFits) {
  Slots slots({}, {.cores = 8, .gpu_memory_mb = {24000, 24000}}, {});
  EXPECT_EQ(slots.take(0, false)->gpus, std::vector<int>{0});
  EXPECT_EQ(slots.take(1, false)->gpus, std::vector<int>{1});
  EXPECT_FALSE(slots.take(2, false));
  slots.note_memory(9000);
  EXPECT_EQ(slots.most_at_once(), 4);
  EXPECT_EQ(slots.take(2, false)->gpus, std::vector<int>{0});
  EXPECT_TRUE(slots.shares(2));
  EXPECT_FALSE(slots.shares(1));
  slots.release(0);
  EXPECT_EQ(slots.take(3, true), std::nullopt);  // both have one
  slots.release(1);
  EXPECT_EQ(slots.take(3, true)->gpus, std::vector<int>{1});
  EXPECT_EQ(slots.take(4, false)->gpus, std::vector<int>{0});  // not beside the one that is alone
  EXPECT_FALSE(slots.take(5, false));
}

TEST(Slots, TheFirstTrialOnAGpuLeavesCoresForThoseThatMayComeBesideIt) {
  const Machine machine{.cores = 16, .gpu_memory_mb = {140000}};
  Slots slots({}, machine, {});
  EXPECT_EQ(slots.most_at_once(), 1);
  EXPECT_EQ(slots.take(0, false)->cores, 4);
  slots.note_memory(2000);
  EXPECT_EQ(slots.most_at_once(), 4);
  EXPECT_EQ(slots.take(1, false)->cores, 4);
  slots.note_memory(100000);  // none fits beside such a one
  EXPECT_EQ(slots.cores_each(), 16);
  EXPECT_EQ(Slots({.at_once = 1}, machine, {}).cores_each(), 16);
  EXPECT_EQ(Slots({.ranks = 2}, {.cores = 16, .gpu_memory_mb = {140000, 140000}}, {}).cores_each(), 16);
}

TEST(Slots, RanksHaveAGpuEach) {
  Slots slots({.ranks = 2}, {.cores = 8, .gpu_memory_mb = {24000, 24000, 24000, 24000}}, {});
  EXPECT_EQ(slots.take(0, false)->gpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(slots.take(1, false)->gpus, (std::vector<int>{2, 3}));
  EXPECT_FALSE(slots.take(2, false));
}

TEST(Slots, AnExecutorOfOtherMachinesHasItsOwnPlaces) {
  Slots slots({}, {.cores = 2}, 2);
  EXPECT_EQ(slots.take(0, false)->cores, 0);
  EXPECT_TRUE(slots.take(1, false));
  EXPECT_FALSE(slots.take(2, false));
}

}  // namespace
}  // namespace tessera
