#include "nn/blocks/dropout.h"

#include <gtest/gtest.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/types.h>

#include "core/error.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

at::Tensor run(torch::nn::Module& layer, const std::vector<int64_t>& ids, int64_t step) {
  const StepContextGuard context({.sample_keys = sample_keys(3, step, ids)});
  return layer.as<ChannelDropoutImpl>()->forward(torch::ones({static_cast<int64_t>(ids.size()), 64, 2, 2}));
}

TEST(ChannelDropout, MaskBelongsToTheSampleNotToItsPlace) {
  ChannelDropout layer(0.5);
  const at::Tensor both = run(*layer, {4, 9}, 1), alone = run(*layer, {9}, 1);
  EXPECT_TRUE(both[1].equal(alone[0]));
  EXPECT_FALSE(both[0].equal(both[1]));
  EXPECT_FALSE(run(*layer, {9}, 2).equal(alone));
  EXPECT_TRUE(both.select(3, 0).equal(both.select(3, 1)));  // whole channels
}

TEST(ChannelDropout, LayersDifferAndEvaluationKeepsAll) {
  torch::nn::Sequential two(ChannelDropout(0.5), ChannelDropout(0.5));
  number_random_layers(*two);
  EXPECT_FALSE(run(*two[0], {1}, 0).equal(run(*two[1], {1}, 0)));
  two->eval();
  EXPECT_TRUE(run(*two[0], {1}, 0).equal(torch::ones({1, 64, 2, 2})));
}

TEST(DropPath, DropsWholeSamplesAndNeedsTheirIds) {
  DropPath layer(0.5);
  EXPECT_THROW(layer(torch::ones({2, 3})), Error);
  const StepContextGuard context({.sample_keys = torch::arange(200)});
  const at::Tensor kept = layer(torch::ones({200, 3}));
  EXPECT_TRUE(kept.select(1, 0).equal(kept.select(1, 2)));
  EXPECT_NEAR(kept.mean().item<double>(), 1.0, 0.25);
}

}  // namespace
}  // namespace tessera
