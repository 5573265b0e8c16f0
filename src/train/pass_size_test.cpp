#include "train/pass_size.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace tessera {
namespace {

// Steps of a batch of `batch` samples on a device with room for `room` of them. Returns how many tries failed.
int64_t take_steps(PassSize& size, int64_t steps, int64_t batch, int64_t room) {
  int64_t failed = 0;
  for (int64_t i = 0; i < steps; ++i) {
    const auto largest = [&] { return size.samples() == 0 ? batch : std::min(batch, size.samples()); };
    while (largest() > room) {
      ++failed;
      if (!size.shrink(largest())) return -1;
    }
    size.fitted();
  }
  return failed;
}

TEST(PassSize, AllAtOnceWhereThatFits) {
  PassSize size({}, 2);
  EXPECT_EQ(take_steps(size, 5000, 16, 16), 0);
  EXPECT_EQ(size.samples(), 0);
}

TEST(PassSize, AutoFindsTheLargestThatFits) {
  for (int64_t room = 2; room < 32; ++room) {
    PassSize size({}, 2);
    EXPECT_LE(take_steps(size, 200, 32, room), 8) << room;
    EXPECT_EQ(size.samples(), room / 2 * 2) << room;
  }
}

TEST(PassSize, ANumberIsOnlyHalved) {
  PassSize size(MicroBatch(16), 2);
  EXPECT_EQ(take_steps(size, 200, 32, 14), 1);
  EXPECT_EQ(size.samples(), 8);
}

TEST(PassSize, RoomThatComesBackIsFound) {
  PassSize size({}, 1);
  take_steps(size, 200, 16, 6);
  ASSERT_EQ(size.samples(), 6);
  take_steps(size, 1200, 16, 16);
  EXPECT_GT(size.samples(), 6);
}

TEST(PassSize, RoomThatIsLostIsNot) {
  PassSize size({}, 1);
  take_steps(size, 200, 16, 12);
  ASSERT_EQ(size.samples(), 12);
  EXPECT_GE(take_steps(size, 200, 16, 3), 0);
  EXPECT_EQ(size.samples(), 3);
}

TEST(PassSize, LessThanOneUnitIsNot) {
  PassSize size({}, 8);
  EXPECT_EQ(take_steps(size, 1, 32, 7), -1);
}

}  // namespace
}  // namespace tessera
