#include "core/cpu_load.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace tessera {
namespace {

const char* const kStat =
    "cpu  1000 10 300 5000 90 7 5 60 0 0\n"
    "cpu0 600 10 100 2000 50 4 3 30 0 0\n"
    "cpu1 400 0 200 3000 40 3 2 30 0 0\n"
    "cpu12 9 0 0 0 0 0 0 0 0 0\n"
    "intr 12345 0 1\n"
    "ctxt 99\n";

TEST(CpuLoad, CountsTheCpusOfTheMask) {
  EXPECT_EQ(busy_ticks(kStat, {0}), 600 + 10 + 100 + 4 + 3);
  EXPECT_EQ(busy_ticks(kStat, {0, 1}), 717 + 400 + 200 + 3 + 2);
  EXPECT_EQ(busy_ticks(kStat, {12}), 9);
  EXPECT_EQ(busy_ticks(kStat, {}), 0);
  EXPECT_EQ(busy_ticks("", {0}), 0);
}

TEST(CpuLoad, OthersUseWhatIsNotOurs) {
  EXPECT_DOUBLE_EQ(cpus_of_others({10, 100, 50}, {12, 104, 51}), 1.5);
  EXPECT_DOUBLE_EQ(cpus_of_others({10, 100, 50}, {12, 101, 53}), 0);  // ticks are coarse
  EXPECT_DOUBLE_EQ(cpus_of_others({10, 100, 50}, {10, 101, 50}), 0);
}

TEST(CpuLoad, CpusAreShortWhereOthersWantOursToo) {
  EXPECT_FALSE(cpus_are_short(0.1, 2, 2, false));
  EXPECT_TRUE(cpus_are_short(1, 2, 2, false));
  EXPECT_FALSE(cpus_are_short(10, 4, 64, false));  // there is room beside us
  EXPECT_TRUE(cpus_are_short(61, 4, 64, false));
  EXPECT_TRUE(cpus_are_short(0.5, 8, 2, false));
  EXPECT_FALSE(cpus_are_short(0.2, 2, 2, false));
  EXPECT_TRUE(cpus_are_short(0.2, 2, 2, true));  // stays so until it is quiet
  EXPECT_FALSE(cpus_are_short(0.1, 2, 2, true));
}

TEST(CpuLoad, OwnWorkIsNotThatOfOthers) {
  const CpuUse before = look_at_cpus();
  std::atomic<bool> stop = false;
  std::thread busy([&] {
    while (!stop) {
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  stop = true;
  busy.join();
  const CpuUse after = look_at_cpus();
  EXPECT_GT(after.own - before.own, 0.01);                           // it was seen, even on a busy machine
  EXPECT_GE(after.all - before.all + 0.05, after.own - before.own);  // and is a part of the whole, to the length of a tick
}

}  // namespace
}  // namespace tessera
