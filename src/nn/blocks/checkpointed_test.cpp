#include "nn/blocks/checkpointed.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include "nn/blocks/conv.h"
#include "nn/blocks/element_dropout.h"
#include "support/norm_segments.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

// Convolution, batch norm, dropout; counts its runs.
class Noisy : public Layer {
 public:
  Noisy() : block_(register_module("block", std::make_shared<ConvBlock>(2, 4, ConvShape{.kernel = 3}))) {
    dropout_ = register_module("dropout", ElementDropout(0.5));
  }
  at::Tensor forward(const at::Tensor& x) override {
    ++runs;
    return dropout_(block_->forward(x));
  }
  int runs = 0;

 private:
  std::shared_ptr<ConvBlock> block_;
  ElementDropout dropout_{nullptr};
};

// Checkpoints a layer from one tensor to one.
at::Tensor checkpointed_layer(Layer& layer, const at::Tensor& x) {
  return checkpointed(layer.parameters(), layer.buffers(), {x},
                      [&](const Tensors& in) -> Tensors { return {layer.forward(in[0])}; })[0];
}

struct Result {
  at::Tensor output, input_gradient;
  std::vector<at::Tensor> gradients, buffers;
  int runs = 0;
};

Result run(bool recompute) {
  torch::manual_seed(4);
  Noisy layer;
  layer.to(at::kDouble);
  const at::Tensor x = torch::randn({4, 2, 5, 7}, at::kDouble).requires_grad_();
  at::Tensor y;
  {
    const StepContextGuard context({.sample_keys = sample_keys(2, 3, {0, 1, 2, 3}), .segments = testing::norm_segments(4, 2)});
    y = recompute ? checkpointed_layer(layer, x) : layer.forward(x);
  }
  // Behind the guard, as on the threads that run a backward pass.
  y.square().sum().backward();
  Result result{y.detach(), x.grad(), {}, layer.buffers(), layer.runs};
  for (const at::Tensor& value : layer.parameters()) result.gradients.push_back(value.grad());
  return result;
}

TEST(Checkpointed, GradientsStatisticsAndDropoutAreThoseOfOneRun) {
  const Result plain = run(false), recomputed = run(true);
  EXPECT_EQ(plain.runs, 1);
  EXPECT_EQ(recomputed.runs, 2);
  EXPECT_TRUE(recomputed.output.equal(plain.output));
  EXPECT_TRUE(recomputed.input_gradient.equal(plain.input_gradient));
  for (size_t i = 0; i < plain.gradients.size(); ++i) EXPECT_TRUE(recomputed.gradients[i].equal(plain.gradients[i])) << i;
  for (size_t i = 0; i < plain.buffers.size(); ++i) EXPECT_TRUE(recomputed.buffers[i].equal(plain.buffers[i])) << i;
}

TEST(Checkpointed, FirstLayerIsTrainedThoughItsInputNeedsNoGradient) {
  ConvBlock layer(2, 3, ConvShape{});
  const at::Tensor y = checkpointed_layer(layer, torch::rand({2, 2, 3, 3}));
  y.square().sum().backward();
  for (const at::Tensor& value : layer.parameters()) EXPECT_TRUE(value.grad().defined());
}

// Two stages share a weight's cast inside one autocast scope; the second run is outside of it, or inside when it is long.
TEST(Checkpointed, SecondRunHasThePrecisionOfTheFirst) {
  std::vector<at::Tensor> gradients;
  for (const auto& [recompute, backward_inside] : {std::pair{false, false}, {true, false}, {true, true}}) {
    torch::manual_seed(8);
    ConvBlock layer(2, 2, ConvShape{.kernel = 3});
    const auto stage = [&](const at::Tensor& x) { return recompute ? checkpointed_layer(layer, x) : layer.forward(x); };
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
    const at::Tensor loss = stage(stage(torch::randn({2, 2, 6, 5}))).to(at::kFloat).square().sum();
    if (backward_inside) loss.backward();
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
    if (!backward_inside) loss.backward();
    EXPECT_FALSE(at::autocast::is_autocast_enabled(at::kCPU));
    EXPECT_TRUE(at::autocast::is_autocast_cache_enabled());
    ASSERT_TRUE(layer.parameters()[0].grad().defined());
    gradients.push_back(layer.parameters()[0].grad());
  }
  // Without the cache the two uses of the weight are rounded to bf16 before they are added, not after.
  for (size_t i = 1; i < gradients.size(); ++i) EXPECT_TRUE(torch::allclose(gradients[i], gradients[0], 2e-2, 2e-2)) << i;
  EXPECT_TRUE(gradients[1].equal(gradients[2]));
}

// Three outputs: the input itself, one with a gradient, one that knows none; and a fourth that nobody uses.
TEST(Checkpointed, OutputsMayBeSeveralAndInputsAmongThem) {
  at::Tensor gradients[2];
  for (const bool recompute : {false, true}) {
    const at::Tensor x = torch::linspace(-1, 1, 6, at::kDouble).requires_grad_();
    const at::Tensor weight = torch::full({6}, 0.5, at::kDouble).requires_grad_();
    const auto compute = [&](const Tensors& in) -> Tensors {
      return {in[0], (in[0] * weight).exp(), in[0].detach().sign(), in[0].sin()};
    };
    const Tensors out = recompute ? checkpointed({weight}, {}, {x}, compute) : compute({x});
    ASSERT_EQ(out.size(), 4U);
    EXPECT_TRUE(out[0].is_same(x));
    (out[0] * 3 + out[1] * out[2].detach()).sum().backward();
    gradients[recompute ? 1 : 0] = at::stack({x.grad(), weight.grad()});
  }
  EXPECT_TRUE(gradients[0].equal(gradients[1]));
}

TEST(Checkpointed, WithoutGradientsItIsAPlainCall) {
  Noisy layer;
  layer.eval();
  const at::NoGradGuard no_grad;
  const at::Tensor y = checkpointed_layer(layer, torch::rand({1, 2, 3, 3}));
  EXPECT_EQ(layer.runs, 1);
  EXPECT_FALSE(y.requires_grad());
}

}  // namespace
}  // namespace tessera
