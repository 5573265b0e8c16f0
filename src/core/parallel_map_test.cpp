#include "core/parallel_map.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
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

// Address space for some 20 MB more: two or three stacks of threads.
[[noreturn]] void map_with_little_memory() {
  int64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  const auto bytes = static_cast<rlim_t>(pages * ::sysconf(_SC_PAGESIZE) + (20 << 20));
  const rlimit limit{bytes, bytes};
  if (::setrlimit(RLIMIT_AS, &limit) != 0) std::_Exit(2);
  int64_t sum = 0;
  {
    ParallelMap<int64_t> map(100, 64, 8, [](int64_t i) { return i; });
    while (const auto value = map.next()) sum += *value;
  }
  std::_Exit(sum == 99 * 50 ? 0 : 1);
}

TEST(ParallelMap, WhereThereIsNoMemoryForMoreThreadsFewerDo) {
  EXPECT_EXIT(map_with_little_memory(), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace tessera
