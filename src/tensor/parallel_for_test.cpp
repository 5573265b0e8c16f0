#include "tensor/parallel_for.h"

#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <mutex>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace tessera {
namespace {

class Threads {
 public:
  explicit Threads(int count) : before_(at::get_num_threads()) { at::set_num_threads(count); }
  ~Threads() { at::set_num_threads(before_); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  int before_;
};

std::set<std::thread::id> threads_of(int64_t count, int64_t grain) {
  std::mutex mutex;
  std::set<std::thread::id> seen;
  parallel_for(0, count, grain, [&](int64_t, int64_t) {
    const std::lock_guard lock(mutex);
    seen.insert(std::this_thread::get_id());
  });
  return seen;
}

TEST(ParallelFor, RunsOnSeveralThreads) {
  const Threads three(3);
  EXPECT_EQ(threads_of(300, 1).size(), 3U);
  EXPECT_EQ(threads_of(20, 10).size(), 2U);  // parts of at least the grain
  EXPECT_EQ(threads_of(10, 10).size(), 1U);
  const Threads one(1);
  EXPECT_EQ(threads_of(300, 1).size(), 1U);
}

TEST(ParallelFor, TakesEveryIndexOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    const Threads set(threads);
    for (const int64_t count : {0, 1, 2, 3, 7, 100, 1001}) {
      for (const int64_t grain : {0, 1, 3, 64}) {
        std::vector<int> seen(static_cast<size_t>(count));
        parallel_for(10, 10 + count, grain, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) ++seen[i - 10];
        });
        EXPECT_EQ(seen, std::vector<int>(seen.size(), 1)) << count << " " << grain << " " << threads;
      }
    }
  }
}

TEST(ParallelFor, InsideAnotherStaysOnItsThread) {
  const Threads three(3);
  parallel_for(0, 3, 1, [&](int64_t, int64_t) { EXPECT_EQ(threads_of(100, 1).size(), 1U); });
}

TEST(ParallelFor, PassesOnWhatIsThrown) {
  const Threads three(3);
  EXPECT_THROW(parallel_for(0, 300, 1,
                            [](int64_t begin, int64_t) {
                              if (begin > 0) throw std::runtime_error("of another thread");
                            }),
               std::runtime_error);
}

}  // namespace
}  // namespace tessera
