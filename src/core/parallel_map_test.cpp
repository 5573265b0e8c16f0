#include "core/parallel_map.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>

namespace tessera {
namespace {

TEST(ParallelMap, GivesResultsInOrderForAnyThreadCount) {
  for (const int threads : {1, 4}) {
    ParallelMap<int64_t> map(50, threads, 7, [](int64_t i) { return i * i; });
    for (int64_t i = 0; i < 50; ++i) EXPECT_EQ(map.next().value(), i * i);
    EXPECT_FALSE(map.next().has_value());
  }
}

TEST(ParallelMap, HoldsNoMoreThanAskedFor) {
  std::atomic<int64_t> made{0};
  ParallelMap<int64_t> map(1000, 3, 5, [&](int64_t i) { return ++made, i; });
  map.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_LE(made.load(), 6);
}

TEST(ParallelMap, RethrowsAtTheItemThatFailedAndGoesOn) {
  ParallelMap<int64_t> map(3, 2, 2, [](int64_t i) { return i == 1 ? throw std::runtime_error("one") : i; });
  EXPECT_EQ(map.next().value(), 0);
  EXPECT_THROW(map.next(), std::runtime_error);
  EXPECT_EQ(map.next().value(), 2);
}

}  // namespace
}  // namespace tessera
