#include "nn/blocks/batch_norm.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/conv.h>
#include <torch/types.h>

#include "core/error.h"
#include "nn/blocks/conv.h"
#include "support/norm_segments.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

TEST(BatchNorm, WholeBatchEqualsTorch) {
  torch::manual_seed(1);
  BatchNorm2d ours(3);
  torch::nn::BatchNorm2d torchs(3);
  ours->to(torch::kDouble);
  torchs->to(torch::kDouble);
  const at::Tensor x = torch::randn({4, 3, 5, 5}, torch::kDouble);
  EXPECT_TRUE(torch::allclose(ours(x), torchs(x), 1e-12, 1e-12));
  EXPECT_TRUE(torch::allclose(ours->running_var, torchs->running_var, 1e-12, 1e-12));
  ours->eval();
  torchs->eval();
  EXPECT_TRUE(torch::allclose(ours(x), torchs(x), 1e-12, 1e-12));
}

TEST(BatchNorm, OneValueHasNoVariance) {
  BatchNorm2d norm(3);
  const at::Tensor x = torch::ones({2, 3, 1, 1});
  EXPECT_THROW(norm(x.narrow(0, 0, 1)), Error);
  EXPECT_NO_THROW(norm(x));
  {
    const StepContextGuard context({.segments = testing::norm_segments(2, 1)});
    EXPECT_THROW(norm(x), Error);
  }
  EXPECT_TRUE(norm->running_var.isfinite().all().item<bool>());
  norm->eval();
  EXPECT_NO_THROW(norm(x.narrow(0, 0, 1)));
}

// 8 samples in units of 2: one pass of 8, two of 4 and four of 2 are the same function and leave the same statistics.
TEST(BatchNorm, UnitsMakePassesOfAnySizeAgree) {
  torch::manual_seed(2);
  const at::Tensor x = torch::randn({8, 3, 5, 5}, torch::kDouble);
  std::vector<at::Tensor> outputs, means;
  for (const int64_t pass : {8, 4, 2}) {
    BatchNorm2d norm(3);
    norm->to(torch::kDouble);
    std::vector<at::Tensor> parts;
    for (const at::Tensor& part : x.split(pass)) {
      const StepContextGuard context({.segments = testing::norm_segments(pass, 2)});
      parts.push_back(norm(part));
    }
    outputs.push_back(torch::cat(parts));
    means.push_back(norm->running_mean.clone());
  }
  for (size_t i = 1; i < 3; ++i) {
    EXPECT_TRUE(outputs[i].equal(outputs[0]));
    EXPECT_TRUE(means[i].equal(means[0]));
  }
}

// What follows the norm is the same in one operation, in training and evaluation.
TEST(BatchNorm, ResidualAndReluInOneOperation) {
  torch::manual_seed(3);
  BatchNorm2d norm(5);
  norm->to(torch::kDouble);
  for (const bool training : {true, false}) {
    norm->train(training);
    const at::Tensor x = torch::randn({4, 5, 6, 7}, torch::kDouble).requires_grad_();
    const at::Tensor residual = torch::randn({4, 5, 6, 7}, torch::kDouble).requires_grad_(), grad_out = torch::randn_like(x);
    const auto gradients = [&](const at::Tensor& y, const std::vector<at::Tensor>& of) {
      return torch::autograd::grad({y}, of, {grad_out});
    };
    const auto expect_same = [&](const at::Tensor& fused, const at::Tensor& plain, const std::vector<at::Tensor>& of) {
      EXPECT_TRUE(torch::allclose(fused, plain, 1e-12, 1e-12));
      const auto found = gradients(fused, of), expected = gradients(plain, of);
      for (size_t i = 0; i < of.size(); ++i) EXPECT_TRUE(torch::allclose(found[i], expected[i], 1e-10, 1e-10)) << i;
    };
    expect_same(norm->norm_relu(x), norm(x).relu(), {x, norm->weight, norm->bias});
    expect_same(norm->norm_add_relu(x, residual), (norm(x) + residual).relu(), {x, residual, norm->weight, norm->bias});
  }
}

// A sink for statistics gets each unit's own, and the layer leaves its averages alone.
// A convolution's bias is nowhere but in the running mean.
TEST(BatchNorm, BiasBeforeItIsNotAdded) {
  torch::manual_seed(4);
  torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 5, 3).padding(1));
  BatchNorm2d norm(5), added(5);
  for (torch::nn::Module* module : std::initializer_list<torch::nn::Module*>{conv.get(), norm.get(), added.get()})
    module->to(torch::kDouble);
  const at::Tensor x = torch::randn({6, 3, 5, 7}, torch::kDouble), grad_out = torch::randn({6, 5, 5, 7}, torch::kDouble);
  const std::vector<at::Tensor> parameters{conv->weight, conv->bias};
  for (int step = 0; step < 3; ++step) {
    const StepContextGuard context({.segments = testing::norm_segments(6, 2)});
    const at::Tensor ours = conv_norm_relu(conv, norm, x), expected = added->norm_relu(conv(x));
    EXPECT_TRUE(torch::allclose(ours, expected, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(norm->running_mean, added->running_mean, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(norm->running_var, added->running_var, 1e-12, 1e-12));
    const auto found = torch::autograd::grad({ours}, parameters, {grad_out});
    const auto wanted = torch::autograd::grad({expected}, parameters, {grad_out});
    EXPECT_TRUE(torch::allclose(found[0], wanted[0], 1e-10, 1e-12));
    EXPECT_TRUE(found[1].equal(torch::zeros_like(found[1])));
    EXPECT_LT(wanted[1].abs().max().item<double>(), 1e-12);
  }
  norm->eval();
  added->eval();
  EXPECT_TRUE(torch::allclose(conv_norm_relu(conv, norm, x), added->norm_relu(conv(x)), 1e-12, 1e-12));
}

// In one pass or, where sides are odd, in two: the same result, maxima, gradients and running averages.
TEST(BatchNorm, PoolsWhatItNormalises) {
  torch::manual_seed(6);
  const auto last = at::MemoryFormat::ChannelsLast;
  for (const int64_t width : {8, 7}) {
    torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 5, 3).padding(1));
    BatchNorm2d norm(5), other(5);
    for (torch::nn::Module* module : std::initializer_list<torch::nn::Module*>{conv.get(), norm.get(), other.get()})
      module->to(torch::kDouble);
    const at::Tensor x = torch::randn({6, 3, 6, width}, torch::kDouble).contiguous(last);
    const std::vector<at::Tensor> parameters{conv->weight, conv->bias};
    const StepContextGuard context({.segments = testing::norm_segments(6, 2)});
    const NormPooled ours = conv_norm_relu_pool(conv, norm, x, /*before=*/4);
    EXPECT_EQ(ours.concat_buffer.defined(), width == 8);
    const at::Tensor y = conv_norm_relu(conv, other, x), pooled = at::max_pool2d(y, 2, 2);
    EXPECT_TRUE(torch::allclose(ours.y, y, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(ours.pooled, pooled, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(norm->running_mean, other->running_mean, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(norm->running_var, other->running_var, 1e-12, 1e-12));
    const std::vector<at::Tensor> grad_outputs{torch::randn_like(pooled), torch::randn_like(y)};
    const auto found = torch::autograd::grad({ours.pooled, ours.y}, parameters, grad_outputs);
    const auto wanted = torch::autograd::grad({pooled, y}, parameters, grad_outputs);
    EXPECT_TRUE(torch::allclose(found[0], wanted[0], 1e-10, 1e-12));
    EXPECT_TRUE(found[1].equal(torch::zeros_like(found[1])));
  }
}

TEST(BatchNorm, FoldsIntoTheConvolutionBeforeIt) {
  torch::manual_seed(5);
  BatchNorm2d norm(5);
  norm->to(torch::kDouble);
  const at::NoGradGuard no_grad;
  for (const bool bias : {false, true}) {
    torch::nn::Conv2d conv(torch::nn::Conv2dOptions(3, 5, 3).padding(1).bias(bias));
    conv->to(torch::kDouble);
    for (at::Tensor* part : {&norm->weight, &norm->bias, &norm->running_mean}) part->normal_();
    norm->running_var.uniform_(0.5, 2);
    norm->eval();
    const at::Tensor x = torch::randn({2, 3, 5, 7}, torch::kDouble);
    const auto expect_equal = [&] {
      const FoldedConv& folded = norm->fold(*conv, torch::kDouble);
      const at::Tensor y = torch::conv2d(x, folded.weight, folded.bias, 1, 1);
      EXPECT_TRUE(torch::allclose(y, norm(conv(x)), 1e-12, 1e-12));
    };
    expect_equal();
    const void* const kept = norm->fold(*conv, torch::kDouble).weight.data_ptr();
    EXPECT_EQ(norm->fold(*conv, torch::kDouble).weight.data_ptr(), kept);
    norm->running_mean.add_(1);  // a checkpoint is loaded
    expect_equal();
    norm->train();
    conv->weight.variable_data().mul_(2);  // as a step does it, unseen
    norm->eval();
    expect_equal();
  }
}

TEST(BatchNorm, StatisticsGoToTheSinkByUnit) {
  struct Sink : NormStatistics {
    void add(const at::Tensor& running, const at::Tensor& value, int64_t unit, double) override {
      seen.push_back({running, value, unit});
    }
    struct Entry {
      at::Tensor running, value;
      int64_t unit;
    };
    std::vector<Entry> seen;
  } sink;
  torch::manual_seed(4);
  const at::Tensor x = torch::randn({5, 3, 4, 4}, torch::kDouble);
  BatchNorm2d norm(3);
  norm->to(torch::kDouble);
  std::vector<NormSegment> segments = testing::norm_segments(5, 2);
  segments.back().counts = false;
  const StepContextGuard context({.segments = segments, .running_statistics = &sink});
  norm(x);
  ASSERT_EQ(sink.seen.size(), 4);  // mean and variance of two units; the third is a stand-in
  for (int64_t unit = 0; unit < 2; ++unit) {
    const auto [var, mean] = torch::var_mean(x.narrow(0, 2 * unit, 2), {0, 2, 3}, /*unbiased=*/true);
    const auto &first = sink.seen[static_cast<size_t>(2 * unit)], &second = sink.seen[static_cast<size_t>(2 * unit + 1)];
    EXPECT_TRUE(first.running.is_same(norm->running_mean) && first.unit == unit);
    EXPECT_TRUE(second.running.is_same(norm->running_var) && second.unit == unit);
    EXPECT_TRUE(torch::allclose(first.value, mean, 1e-12, 1e-12));
    EXPECT_TRUE(torch::allclose(second.value, var, 1e-12, 1e-12));
  }
  EXPECT_EQ(norm->running_mean.abs().max().item<double>(), 0);
}

}  // namespace
}  // namespace tessera
