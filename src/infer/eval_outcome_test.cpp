#include "infer/eval_outcome.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>

#include "dist/thread_ranks.h"
#include "infer/predictor.h"

namespace tessera {
namespace {

void fail_with(const std::string& text) {
  throw Error(text);
}
void stop() {
  throw PredictionStopped();
}

TEST(EvalOutcome, AloneItIsThatOfTheWork) {
  World alone;
  bool done = false;
  finish_alike(alone, [&] { done = true; });
  EXPECT_TRUE(done);
  EXPECT_THROW(finish_alike(alone, stop), PredictionStopped);
  EXPECT_THROW(finish_alike(alone, [] { fail_with("a disk is gone"); }), EvaluationFailed);
}

// Rank 1 is stopped, then rank 2 fails as well: a failure counts more, and only the rank that failed says why.
TEST(EvalOutcome, IsTheWorstOfAllRanks) {
  std::atomic<int> stopped = 0, failed = 0;
  run_on_threads(3, false, std::chrono::seconds(60), [&](World& world) {
    finish_alike(world, [] {});
    try {
      finish_alike(world, [&] { world.rank() == 1 ? stop() : void(); });
    } catch (const PredictionStopped&) {
      ++stopped;
    }
    try {
      finish_alike(world, [&] { world.rank() == 1 ? stop() : world.rank() == 2 ? fail_with("a disk is gone") : void(); });
    } catch (const EvaluationFailed& e) {
      ++failed;
      const bool own = std::string(e.what()).find("a disk is gone") != std::string::npos;
      EXPECT_EQ(own, world.rank() == 2) << e.what();
      const bool other = std::string(e.what()).find("another rank's images") != std::string::npos;
      EXPECT_EQ(other, !own) << e.what();
    }
  });
  EXPECT_EQ(stopped, 3);
  EXPECT_EQ(failed, 3);
}

}  // namespace
}  // namespace tessera
