#include "infer/run_images.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "core/files.h"
#include "data/datasets/dataset_factory.h"
#include "dist/thread_ranks.h"
#include "infer/checkpoint/checkpoint.h"
#include "support/fixed_dataset.h"
#include "support/fixtures.h"
#include "support/tiny_experiment.h"

namespace tessera {
namespace {

using testing::FixedDataset;
using testing::row_sample;
using testing::TempFolder;
using testing::tiny_experiment;

// 1000 values of 16 bits, 0 to 3996.
FixedDataset deep_data() {
  Sample sample = row_sample("deep", std::vector<uint8_t>(1000), std::vector<int16_t>(1000, 1));
  std::vector<float> values(1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(4 * i);
  sample.image.pixels = values;
  sample.image.max_value = 65535;
  return FixedDataset({sample});
}

TEST(RunImages, TheFirstRankDecidesForAll) {
  const TempFolder folder;
  const FixedDataset data = deep_data();
  std::vector<RunImages> found(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    // The second one would decide otherwise: its data is another.
    const FixedDataset other({row_sample("x", {1, 2}, {0, 1})});
    const Dataset& own = world.is_first() ? static_cast<const Dataset&>(data) : other;
    found[world.rank()] = images_of_run(tiny_experiment({"data.channels=1"}), own, folder.path(), false, world);
  });
  for (const RunImages& images : found) {
    EXPECT_EQ(images.normalize.mode, NormalizeMode::kRange);
    EXPECT_EQ(images.normalize.low_value, (std::vector<double>{16}));  // place 4 of 0 .. 999
    EXPECT_EQ(images.normalize.high_value, (std::vector<double>{3976}));
    EXPECT_EQ(images.facts.depth, "16-bit");
  }
}

TEST(RunImages, EightBitImagesStayFixed) {
  const TempFolder folder;
  const Experiment experiment = tiny_experiment();
  World alone;
  const RunImages images =
      images_of_run(experiment, *make_dataset(experiment.data, Split::kTrain), folder.path(), false, alone);
  EXPECT_EQ(images.normalize.mode, NormalizeMode::kFixed);
  EXPECT_EQ(images.normalize.mean, experiment.data.normalize.mean);
  EXPECT_EQ(images.facts.depth, "8-bit");
  EXPECT_EQ(images.facts.channels, 3);
}

TEST(RunImages, RunsThatShareTheirDataLookOnceForEachSeed) {
  const TempFolder folder;
  const FixedDataset data = deep_data(), other({row_sample("x", {1, 2}, {0, 1})});
  World alone;
  KeptLook kept;
  const auto depth = [&](const Dataset& train, const std::string& seed) {
    return images_of_run(tiny_experiment({"data.channels=1", seed}), train, folder.path(), false, alone, &kept).facts.depth;
  };
  EXPECT_EQ(depth(data, "train.seed=1"), "16-bit");
  EXPECT_EQ(depth(other, "train.seed=1"), "16-bit");  // it was not looked at
  EXPECT_EQ(depth(other, "train.seed=2"), "8-bit");
}

TEST(RunImages, ARunThatGoesOnKeepsItsNumbers) {
  const TempFolder folder;
  const Experiment before = tiny_experiment(
      {"data.channels=1", "data.normalize.mode=range", "data.normalize.low_value=[7]", "data.normalize.high_value=[70]"});
  write_file(folder / "config.yaml", experiment_yaml(before));
  World alone;
  const auto mode_now = [&] {
    return images_of_run(tiny_experiment({"data.channels=1"}), deep_data(), folder.path(), true, alone).normalize;
  };
  EXPECT_EQ(mode_now().low_value, (std::vector<double>{16}));  // it ended before its first checkpoint, so it begins anew
  write_checkpoint(folder / "checkpoints/step-00000001", Checkpoint{});
  EXPECT_EQ(mode_now(), before.data.normalize);
}

TEST(RunImages, NothingToLearnEndsAllRanks) {
  const TempFolder folder;
  const FixedDataset none({row_sample("x", {1, 2}, {-1, -1})});
  std::vector<int> refused(2);
  run_on_threads(2, false, std::chrono::seconds(60), [&](World& world) {
    try {
      images_of_run(tiny_experiment({"data.channels=1"}), none, folder.path(), false, world);
    } catch (const UsageError&) {
      refused[world.rank()] = 1;
    }
  });
  EXPECT_EQ(refused, (std::vector<int>{1, 1}));
}

}  // namespace
}  // namespace tessera
