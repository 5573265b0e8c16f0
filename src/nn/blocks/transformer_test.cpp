#include "nn/blocks/transformer.h"

#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/types.h>

#include <optional>

#include "kernels/common/fused.h"
#include "support/made_values.h"

namespace tessera {
namespace {

const TransformerOptions kOptions{.width = 24, .heads = 3, .mlp_width = 40, .norm_eps = 1e-6};

class Bf16Scope {
 public:
  Bf16Scope() {
    at::autocast::set_autocast_enabled(at::kCPU, true);
    at::autocast::set_autocast_dtype(at::kCPU, at::kBFloat16);
    at::autocast::increment_nesting();
  }
  ~Bf16Scope() {
    if (at::autocast::decrement_nesting() == 0) at::autocast::clear_cache();
    at::autocast::set_autocast_enabled(at::kCPU, false);
  }
};

// A block's output, the gradient of its input and those of its parameters.
std::vector<at::Tensor> run(at::ScalarType type, bool fused, bool bf16) {
  TransformerBlock block(kOptions);
  testing::fill_made(*block);
  block->to(type);
  std::optional<FusedTransformerGuard> guard;
  if (fused) guard.emplace();
  const at::Tensor x = testing::made({2, 7, kOptions.width}, 5, 2, type).requires_grad_();
  at::Tensor y;
  {
    std::optional<Bf16Scope> scope;
    if (bf16) scope.emplace();
    y = block(x);
  }
  (y * testing::made(y.sizes(), 9, 2, type)).sum().backward();
  std::vector<at::Tensor> all = {y.detach(), x.grad()};
  for (const at::Tensor& parameter : block->parameters()) all.push_back(parameter.grad());
  return all;
}

void expect_near(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected, double tolerance) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
    EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size) << "tensor " << i;
  }
}

TEST(TransformerBlock, FusedKernelsComputeTheSame) {
  const auto expected = run(at::kDouble, false, false);
  expect_near(run(at::kDouble, true, false), expected, 1e-10);
  expect_near(run(at::kFloat, true, false), expected, 1e-5);
}

// Products in bf16 lose more than the order of roundings around them: both ways are as near to the exact block.
TEST(TransformerBlock, FusedKernelsComputeTheSameInBf16) {
  const auto expected = run(at::kDouble, false, false);
  expect_near(run(at::kFloat, false, true), expected, 3e-2);
  expect_near(run(at::kFloat, true, true), expected, 3e-2);
}

// A stack of layers and the norm behind it: its output, the gradient of its input and those of its parameters.
std::vector<at::Tensor> run_stack(at::ScalarType type, bool fused, bool checkpoint) {
  TransformerOptions options = kOptions;
  options.checkpoint = checkpoint;
  torch::nn::ModuleList list;
  std::vector<TransformerBlock> blocks = stack_blocks(list, 3, options);
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({options.width}).eps(options.norm_eps));
  list->push_back(norm);
  testing::fill_made(*list);
  list->to(type);
  std::optional<FusedTransformerGuard> guard;
  if (fused) guard.emplace();
  const at::Tensor x = testing::made({2, 7, options.width}, 5, 2, type).requires_grad_();
  std::vector<Segment> segments;
  for (size_t i = 0; i < blocks.size(); ++i) segments.push_back(block_segment(std::to_string(i), blocks[i]));
  segments.push_back({.name = "norm", .parts = {"3"}, .compute = [&](const Tensors& in) -> Tensors {
                        return {norm_tokens(ResidualTokens::unpack(in), norm)};
                      }});
  bind_segments(segments, *list);
  const at::Tensor y = run_segments(segments, {x})[0];
  (y * testing::made(y.sizes(), 9, 2, type)).sum().backward();
  std::vector<at::Tensor> all = {y.detach(), x.grad()};
  for (const at::Tensor& parameter : list->parameters()) all.push_back(parameter.grad());
  return all;
}

TEST(TransformerStack, AdditionsThatWaitForTheNextNormAreTheSame) {
  const auto expected = run_stack(at::kDouble, false, false);
  expect_near(run_stack(at::kDouble, true, false), expected, 1e-10);
  expect_near(run_stack(at::kDouble, true, true), expected, 1e-10);
  expect_near(run_stack(at::kDouble, false, true), expected, 1e-10);
  expect_near(run_stack(at::kFloat, true, false), expected, 1e-4);
}

TEST(TransformerStack, IsItsBlocksOneAfterAnother) {
  torch::nn::ModuleList list;
  std::vector<TransformerBlock> blocks = stack_blocks(list, 3, kOptions);
  torch::nn::LayerNorm norm(torch::nn::LayerNormOptions({kOptions.width}).eps(kOptions.norm_eps));
  testing::fill_made(*list);
  const at::Tensor x = testing::made({2, 7, kOptions.width}, 5, 2, at::kFloat);
  at::Tensor tokens = x;
  ResidualTokens waiting{x, {}};
  for (TransformerBlock& block : blocks) {
    tokens = block(tokens);
    waiting = block->advance(waiting);
  }
  EXPECT_TRUE(norm_tokens(waiting, norm).equal(norm(tokens)));  // where nothing is fused, to the bit
}

}  // namespace
}  // namespace tessera
