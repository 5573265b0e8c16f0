#include "study/scale/scale_cells.h"

#include <gtest/gtest.h>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<std::string> names(const ScaleConfig& config) {
  std::vector<std::string> all;
  for (const ScaleCell& cell : scale_cells(config)) all.push_back(cell_name(cell));
  return all;
}

TEST(ScaleCells, AreEveryCombinationFromFewRanksToMany) {
  EXPECT_EQ(
      names({.ranks = {4, 1, 4}, .modes = {ParallelMode::kDdp, ParallelMode::kZero1}, .models = {"a", "b/c"}, .repeat = 2}),
      (std::vector<std::string>{"a-ddp-1-seed0", "a-ddp-1-seed1", "a-ddp-4-seed0", "a-ddp-4-seed1", "a-zero1-1-seed0",
                                "a-zero1-1-seed1", "a-zero1-4-seed0", "a-zero1-4-seed1", "b-c-ddp-1-seed0", "b-c-ddp-1-seed1",
                                "b-c-ddp-4-seed0", "b-c-ddp-4-seed1", "b-c-zero1-1-seed0", "b-c-zero1-1-seed1",
                                "b-c-zero1-4-seed0", "b-c-zero1-4-seed1"}));
}

TEST(ScaleCells, NoneIsOneRank) {
  EXPECT_EQ(names({.ranks = {1, 2}, .modes = {ParallelMode::kNone, ParallelMode::kDdp}}),
            (std::vector<std::string>{"none-1-seed0", "ddp-1-seed0", "ddp-2-seed0"}));
  EXPECT_EQ(left_out_of_none({.ranks = {4, 1, 2}, .modes = {ParallelMode::kDdp, ParallelMode::kNone}}),
            "mode none is one rank: it is left out of 2, 4 ranks");
  EXPECT_EQ(left_out_of_none({.ranks = {1}, .modes = {ParallelMode::kNone}}), "");
  EXPECT_EQ(left_out_of_none({.ranks = {1, 2}, .modes = {ParallelMode::kDdp}}), "");
  EXPECT_THROW(scale_cells({.ranks = {2}, .modes = {ParallelMode::kNone}}), UsageError);
  EXPECT_THROW(scale_cells({.modes = {ParallelMode::kDdp, ParallelMode::kDdp}}), UsageError);
  EXPECT_THROW(scale_cells({.ranks = {}}), UsageError);
}

TEST(ScaleCells, StrongScalingKeepsTheBatch) {
  Experiment base;
  base.train.seed = 5;
  EXPECT_EQ(cell_overrides({.set = {"train.duration=3ep"}}, {.model = "pspnet", .ranks = 4, .repeat = 2}, base),
            (std::vector<std::string>{"train.duration=3ep", "model.name=pspnet", "train.seed=7"}));
}

TEST(ScaleCells, WeakScalingGrowsTheBatchAndTheRate) {
  Experiment base;
  base.train.batch_size = 16;
  base.train.seed = 1;
  const ScaleConfig config{.scaling = Scaling::kWeak};
  EXPECT_EQ(cell_overrides(config, {.ranks = 4}, base),
            (std::vector<std::string>{"train.seed=1", "train.batch_size=64", "optimizer.lr_scaling=linear",
                                      "optimizer.base_batch=16"}));
  base.optimizer.lr_scaling = LrScaling::kSqrt;  // the config has said how
  base.optimizer.base_batch = 8;
  EXPECT_EQ(cell_overrides(config, {.ranks = 4}, base), (std::vector<std::string>{"train.seed=1", "train.batch_size=64"}));
}

TEST(ScaleCells, AModelMayBeABuiltInFragment) {
  EXPECT_EQ(model_overrides("unet_small"),
            (std::vector<std::string>{"model.name=unet", "model.unet.channels=[32, 64, 128]", "model.unet.bottleneck=256"}));
  EXPECT_EQ(model_overrides("unet"), (std::vector<std::string>{"model.name=unet"}));
  EXPECT_TRUE(model_overrides("").empty());
}

}  // namespace
}  // namespace tessera
