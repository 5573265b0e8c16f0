#include "train/balanced_sampling.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "data/check/class_balance.h"
#include "dist/thread_ranks.h"
#include "support/few_steps.h"
#include "support/fixed_dataset.h"
#include "support/messages.h"

namespace tessera {
namespace {

using testing::FixedDataset;
using testing::row_sample;

FixedDataset three_images() {
  return FixedDataset({row_sample("x", {0, 0, 0, 0}, {0, 0, 0, 0}), row_sample("y", {0, 0, 0, 0}, {0, 0, 0, 1}),
                       row_sample("z", {0, 0, 0, 0}, {0, 0, 2, 2})});
}

// A data set that no one may look into.
struct Untouched : FixedDataset {
  Untouched() : FixedDataset({row_sample("x", {0}, {0})}) {}
  Sample get(int64_t) const override { fail("a sample was read"); }
};

TEST(BalancedSampling, TheFirstRankCountsForAllToTheBit) {
  DataConfig config;
  config.sampler = SamplerKind::kBalanced;
  config.balance.temperature = 0.3;
  std::vector<std::vector<double>> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    const FixedDataset data = three_images();
    const Untouched none;
    LabelCounts labels;
    found[static_cast<size_t>(world.rank())] =
        chances_of_run(config, world.is_first() ? static_cast<const Dataset&>(data) : none, labels, world);
  });
  EXPECT_EQ(found[0], sample_chances(count_sample_classes(three_images(), 1), 3, config.balance));
  EXPECT_EQ(found[0], found[1]);
  World alone;
  LabelCounts labels;
  EXPECT_TRUE(chances_of_run(DataConfig(), Untouched(), labels, alone).empty());
}

// Names of files need not be UTF-8, and a rank that cannot tell the others leaves them waiting.
TEST(BalancedSampling, MistakesOfAnyBytesReachAllRanks) {
  struct Unreadable : FixedDataset {
    Unreadable() : FixedDataset({row_sample("x", {0}, {0})}) {}
    Sample get(int64_t) const override { fail("cannot read gr\xFC\xDF.png"); }
  };
  DataConfig config;
  config.sampler = SamplerKind::kBalanced;
  int refused = 0;
  std::mutex mutex;
  run_on_threads(2, false, std::chrono::seconds(20), [&](World& world) {
    LabelCounts labels;
    const std::string said = testing::message_of<UsageError>([&] { chances_of_run(config, Unreadable(), labels, world); });
    const std::lock_guard lock(mutex);
    refused += said.find("cannot read gr") != std::string::npos ? 1 : 0;
  });
  EXPECT_EQ(refused, 2);
}

TEST(BalancedSampling, MistakesReachAllRanks) {
  DataConfig config;
  config.sampler = SamplerKind::kBalanced;
  config.balance.min_pixels = 100;
  int refused = 0;
  std::mutex mutex;
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    const FixedDataset data = three_images();
    LabelCounts labels;
    const std::string said = testing::message_of<UsageError>([&] { chances_of_run(config, data, labels, world); });
    const std::lock_guard lock(mutex);
    refused += said.find("data.balance.min_pixels") != std::string::npos ? 1 : 0;
  });
  EXPECT_EQ(refused, 2);
}

}  // namespace
}  // namespace tessera
