#include "kernels/tokens/self_attention.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include <cmath>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct Inputs {
  at::Tensor x, weight, bias, grad_out;
  int64_t heads;
};

Inputs make_inputs(int64_t samples, int64_t tokens, int64_t heads, int64_t d) {
  at::manual_seed(tokens * heads + d);
  const auto made = [&](at::IntArrayRef sizes, double scale) {
    return (at::randn(sizes, at::kDouble) * scale).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
  };
  const int64_t width = heads * d;
  return {made({samples, tokens, width}, 1), made({3 * width, width}, 1 / std::sqrt(static_cast<double>(width))),
          made({3 * width}, 0.5), made({samples, tokens, width}, 1), heads};
}

// softmax(q k' / sqrt(d)) v, spelt out.
at::Tensor plain(const at::Tensor& qkv, int64_t heads) {
  const int64_t d = qkv.size(2) / (3 * heads);
  const auto parts = qkv.view({qkv.size(0), qkv.size(1), 3, heads, d}).permute({2, 0, 3, 1, 4}).unbind(0);
  const at::Tensor weights = (parts[0].matmul(parts[1].transpose(2, 3)) / std::sqrt(static_cast<double>(d))).softmax(-1);
  return weights.matmul(parts[2]).transpose(1, 2).reshape({qkv.size(0), qkv.size(1), heads * d});
}

// The result and the gradients of x, weight and bias of the projection.
std::vector<at::Tensor> run(const Inputs& in, at::ScalarType type, bool ours) {
  const auto leaf = [&](const at::Tensor& value) { return value.to(type).clone().requires_grad_(); };
  const at::Tensor x = leaf(in.x), weight = leaf(in.weight), bias = leaf(in.bias);
  const at::Tensor result = ours ? self_attention(at::linear(x, weight, bias.detach()), bias, in.heads)
                                 : plain(at::linear(x, weight, bias), in.heads);
  std::vector<at::Tensor> all = {result.detach()};
  for (const at::Tensor& gradient : torch::autograd::grad({result}, {x, weight, bias}, {in.grad_out.to(type)}))
    all.push_back(gradient);
  return all;
}

void expect_equal(const Inputs& in, at::ScalarType type, double tolerance) {
  const auto expected = run(in, at::kDouble, false), got = run(in, type, true);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    EXPECT_EQ(got[i].scalar_type(), type);
    const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
    EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size)
        << "tensor " << i << " of " << in.x.sizes() << " " << toString(type);
  }
}

TEST(SelfAttention, EqualsItsDefinitionInBothDirections) {
  for (const auto& [samples, tokens, heads, d] : std::vector<std::array<int64_t, 4>>{
           {2, 7, 3, 8}, {1, 1, 1, 4}, {3, 33, 2, 64}, {1, 150, 4, 16}, {2, 5, 3, 5}, {2, 129, 3, 64}}) {
    const Inputs in = make_inputs(samples, tokens, heads, d);
    expect_equal(in, at::kDouble, 1e-10);
    expect_equal(in, at::kFloat, 1e-5);
    expect_equal(in, at::kBFloat16, 2e-2);  // the projection, the weights and every gradient are rounded to 8 bits
  }
}

TEST(SelfAttention, ResultsAreTokensInMemory) {
  const Inputs in = make_inputs(2, 9, 3, 8);
  const at::Tensor qkv = at::linear(in.x, in.weight, in.bias).requires_grad_();
  EXPECT_TRUE(self_attention(qkv, in.bias, 3).is_contiguous());
}

TEST(SelfAttention, WithoutGradientsItIsTheSame) {
  const Inputs in = make_inputs(2, 9, 3, 8);
  const at::Tensor qkv = at::linear(in.x, in.weight, in.bias);
  EXPECT_LT((self_attention(qkv, in.bias, 3) - plain(qkv, 3)).abs().max().item<double>(), 1e-10);
}

// A frozen projection: only its bias is trained.
TEST(SelfAttention, BiasAloneHasItsGradient) {
  const Inputs in = make_inputs(2, 9, 3, 8);
  const at::Tensor bias = in.bias.clone().requires_grad_();
  const auto got =
      torch::autograd::grad({self_attention(at::linear(in.x, in.weight, in.bias), bias, 3)}, {bias}, {in.grad_out});
  EXPECT_LT((got[0] - run(in, at::kDouble, false)[3]).abs().max().item<double>(), 1e-10);
}

// Many heads and few, and a width for which no library has a fused kernel.
TEST(SelfAttention, DeterministicRunsGiveTheSameBitsAndTheRightOnes) {
  at::globalContext().setDeterministicAlgorithms(true, /*warn_only=*/true);
  for (const auto& [samples, tokens, heads, d] :
       std::vector<std::array<int64_t, 4>>{{17, 130, 8, 64}, {16, 257, 8, 64}, {2, 300, 2, 64}, {2, 33, 3, 5}}) {
    const Inputs in = make_inputs(samples, tokens, heads, d);
    expect_equal(in, at::kBFloat16, 2e-2);
    for (const at::ScalarType type : {at::kBFloat16, at::kFloat}) {
      const auto once = run(in, type, true), again = run(in, type, true);
      for (size_t i = 0; i < once.size(); ++i) EXPECT_TRUE(once[i].equal(again[i])) << "tensor " << i << " of " << in.x.sizes();
    }
  }
  at::globalContext().setDeterministicAlgorithms(false, /*warn_only=*/false);
}

TEST(SelfAttention, ShapesThatDoNotFitAreRefused) {
  EXPECT_THROW(self_attention(at::zeros({1, 2, 24}), at::zeros({24}), 5), Error);
  EXPECT_THROW(self_attention(at::zeros({1, 2, 24}), at::zeros({8}), 2), Error);
}

}  // namespace
}  // namespace tessera
