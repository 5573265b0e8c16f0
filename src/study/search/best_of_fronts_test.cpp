#include "study/search/best_of_fronts.h"

#include <gtest/gtest.h>

#include "core/rng.h"

namespace tessera {
namespace {

// Points whose fronts come nearer while they are told, as those of a search do; few digits give copies of points.
Losses drawn(Rng& rng, int64_t number, size_t objectives) {
  Losses losses(objectives);
  const double away = 1 + 3 / (1 + static_cast<double>(number) / 500);
  for (double& loss : losses) loss = std::round(100 * away * rng.uniform()) / 100;
  return losses;
}

TEST(BestOfFronts, LeavingOutTrialsChangesNothing) {
  for (const size_t objectives : {2, 3}) {
    Rng rng(3, Stream::kStudy, objectives);
    BestOfFronts kept;
    std::map<int64_t, Losses> told;
    for (int64_t number = 0; number < 4000; ++number) {
      told[number] = drawn(rng, number, objectives);
      kept.tell(number, told[number]);
      if (number % 50 != 0) continue;
      BestOfFronts fresh;
      for (const auto& [one, losses] : told) fresh.tell(one, losses);
      const size_t count = std::min<size_t>(told.size() / 10, BestOfFronts::kMost);
      EXPECT_EQ(kept.best(count, -1), fresh.best(count, -1)) << objectives << " objectives, " << number;
    }
  }
}

// A point that is forgotten may have been before those that were left out.
TEST(BestOfFronts, ForgettingBringsOthersBack) {
  BestOfFronts kept;
  for (int64_t i = 0; i < 3000; ++i) kept.tell(i, {static_cast<double>(i), static_cast<double>(i)});
  kept.best(10, -1);
  for (int64_t i = 0; i < 2990; ++i) kept.forget(i);
  EXPECT_EQ(kept.best(3, -1), (std::vector<int64_t>{2990, 2991, 2992}));
  EXPECT_EQ(kept.best(3, 2991), (std::vector<int64_t>{2990, 2992, 2993}));
  kept.tell(2995, {0, 0});  // told anew
  EXPECT_EQ(kept.best(2, -1), (std::vector<int64_t>{2995, 2990}));
}

}  // namespace
}  // namespace tessera
