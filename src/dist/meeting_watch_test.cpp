#include "dist/meeting_watch.h"

#include <gtest/gtest.h>

#include <atomic>

#include "core/error.h"

namespace tessera {
namespace {

constexpr auto kPeriod = std::chrono::milliseconds(1);

void wait_for(const std::atomic<int>& number, int value) {
  while (number < value) std::this_thread::sleep_for(kPeriod);
}

TEST(MeetingWatch, AbortsOnceWhereAllAreToMeetAgain) {
  std::atomic<int> looked = 0, aborted = 0;
  {
    const MeetingWatch watch([&] { return ++looked > 3; }, [&] { ++aborted; }, kPeriod);
    wait_for(aborted, 1);
  }
  EXPECT_EQ(looked, 4);
  EXPECT_EQ(aborted, 1);
}

TEST(MeetingWatch, EndsAtOnceThoughItWaits) {
  std::atomic<int> looked = 0, aborted = 0;
  {
    const MeetingWatch watch([&] { return ++looked < 0; }, [&] { ++aborted; }, std::chrono::hours(1));
    wait_for(looked, 1);
  }
  EXPECT_EQ(looked, 1);
  EXPECT_EQ(aborted, 0);
}

TEST(MeetingWatch, EndsWhereTheStoreIsGone) {
  std::atomic<int> looked = 0, aborted = 0;
  {
    const MeetingWatch watch(
        [&]() -> bool {
          ++looked;
          fail("no store");
        },
        [&] { ++aborted; }, kPeriod);
    wait_for(looked, 1);
  }
  EXPECT_EQ(looked, 1);
  EXPECT_EQ(aborted, 0);
}

}  // namespace
}  // namespace tessera
