#include "core/load_budget.h"

#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "core/parallel_map.h"

namespace tessera {
namespace {

TEST(LoadBudget, LargeItemsAreInMemoryOneByOne) {
  LoadBudget budget(100);
  std::atomic<int> inside = 0, most = 0;
  ParallelMap<int64_t> map(12, 4, 8, [&](int64_t item) {
    budget.enter(item, 10);
    most = std::max<int>(most, ++inside);
    budget.resize(item, 100);
    return item;
  });
  for (int64_t item = 0; item < 12; ++item) {
    EXPECT_EQ(map.next(), item);
    --inside;
    budget.leave(item);
  }
  EXPECT_LE(most, 5);  // four threads may have begun before the first knew its size, and then one that is next
}

TEST(LoadBudget, TheNextItemNeverWaits) {
  LoadBudget budget(1);
  budget.enter(0, 1000);  // larger than all of it
  auto second = std::async(std::launch::async, [&] { budget.enter(1, 1); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(20)), std::future_status::timeout);
  budget.leave(0);
  second.get();
}

TEST(LoadBudget, OpenedItLetsEverybodyIn) {
  LoadBudget budget(1);
  budget.enter(0, 1);
  auto later = std::async(std::launch::async, [&] { budget.enter(2, 1); });
  budget.open();
  later.get();
}

}  // namespace
}  // namespace tessera
