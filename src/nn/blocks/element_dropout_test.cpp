#include "nn/blocks/element_dropout.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "tensor/step_context.h"

namespace tessera {
namespace {

TEST(ElementDropout, DropsSingleValuesOfASampleWhereverItStands) {
  ElementDropout layer(0.5);
  const auto run = [&](const std::vector<int64_t>& ids) {
    const StepContextGuard context({.sample_keys = sample_keys(3, 0, ids)});
    return layer(torch::ones({static_cast<int64_t>(ids.size()), 8, 9, 5}));
  };
  const at::Tensor both = run({4, 9}), alone = run({9});
  EXPECT_TRUE(both[1].equal(alone[0]));
  EXPECT_FALSE(both[0].equal(both[1]));
  EXPECT_NEAR(both.mean().item<double>(), 1.0, 0.2);
  const at::Tensor channel = alone[0][0];
  EXPECT_GT(channel.max().item<double>(), 1.9);  // some values of one channel stay, some go
  EXPECT_EQ(channel.min().item<double>(), 0);
}

TEST(ElementDropout, EvaluationKeepsAll) {
  ElementDropout layer(0.5);
  layer->eval();
  EXPECT_TRUE(layer(torch::ones({1, 2, 3, 3})).equal(torch::ones({1, 2, 3, 3})));
}

}  // namespace
}  // namespace tessera
