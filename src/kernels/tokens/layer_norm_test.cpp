#include "kernels/tokens/layer_norm.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

constexpr double kEps = 1e-6;

// The results of one way to compute it: the two outputs, then the gradients of x, branch, weight and bias.
using Values = std::vector<at::Tensor>;

struct Inputs {
  at::Tensor x, branch, weight, bias;
  at::Tensor grad_out, grad_sum;  // of the two results
};

// Made in float64 from values that the shorter types have too, so that only the arithmetic differs.
Inputs make_inputs(at::IntArrayRef shape, at::ScalarType branch_type) {
  at::manual_seed(shape.back());
  const auto made = [&](at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
  };
  return {made(shape) + 3, made(shape).to(branch_type).to(at::kDouble), made({shape.back()}), made({shape.back()}), made(shape),
          made(shape)};
}

template <class Compute>
Values with_gradients(const Inputs& in, at::ScalarType type, at::ScalarType branch_type, bool with_branch, bool uses_sum,
                      const Compute& compute) {
  const auto leaf = [](const at::Tensor& value, at::ScalarType t) { return value.to(t).clone().requires_grad_(); };
  const at::Tensor x = leaf(in.x, type), weight = leaf(in.weight, type), bias = leaf(in.bias, type);
  const at::Tensor branch = with_branch ? leaf(in.branch, branch_type) : at::Tensor();
  const NormalizedSum result = compute(x, branch, weight, bias);
  at::Tensor loss = (result.normalized.to(at::kDouble) * in.grad_out).sum();
  if (uses_sum) loss = loss + (result.sum.to(at::kDouble) * in.grad_sum).sum();
  Values leaves = {x, weight, bias};
  if (with_branch) leaves.push_back(branch);
  Values all = {result.sum.detach(), result.normalized.detach()};
  for (const at::Tensor& gradient : torch::autograd::grad({loss}, leaves)) all.push_back(gradient);
  return all;
}

NormalizedSum plain(const at::Tensor& x, const at::Tensor& branch, const at::Tensor& weight, const at::Tensor& bias) {
  const at::Tensor sum = branch.defined() ? x + branch : x;
  return {sum, at::layer_norm(sum, weight.sizes(), weight, bias, kEps)};
}

void expect_equal(const Inputs& in, at::ScalarType type, at::ScalarType short_type, bool with_branch, bool uses_sum,
                  double tolerance) {
  const Values expected = with_gradients(in, at::kDouble, at::kDouble, with_branch, uses_sum, plain);
  const Values got = with_gradients(in, type, short_type, with_branch, uses_sum,
                                    [&](const auto&... tensors) { return add_layer_norm(tensors..., kEps, short_type); });
  ASSERT_EQ(got.size(), expected.size());
  EXPECT_EQ(got[1].scalar_type(), short_type);
  for (size_t i = 0; i < got.size(); ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
    EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size)
        << "tensor " << i << " of " << in.x.sizes() << " " << toString(type) << " " << toString(short_type);
  }
}

const std::vector<std::vector<int64_t>> kShapes = {{2, 5, 64},  {1, 1, 1}, {3, 7, 150},  {2, 9, 768},
                                                   {1, 3, 129}, {1700, 8}, {2, 3, 1000}, {1, 2, 2500}};

TEST(AddLayerNorm, EqualsTorchInBothDirections) {
  for (const auto& shape : kShapes) {
    for (const bool branch : {true, false}) {
      for (const bool uses_sum : {true, false}) {
        const Inputs in = make_inputs(shape, at::kDouble);
        expect_equal(in, at::kDouble, at::kDouble, branch, uses_sum, 1e-10);
        expect_equal(in, at::kFloat, at::kFloat, branch, uses_sum, 1e-5);
      }
    }
  }
}

// Only the result and the branch's gradient are rounded to 8 bits (11 of float16): half of 2^-8 of the largest value.
TEST(AddLayerNorm, ShortBranchAndResult) {
  for (const auto& shape : kShapes) {
    expect_equal(make_inputs(shape, at::kBFloat16), at::kFloat, at::kBFloat16, true, true, 5e-3);
    expect_equal(make_inputs(shape, at::kHalf), at::kFloat, at::kHalf, true, true, 1e-3);
  }
}

TEST(AddLayerNorm, BiasOfTheBranch) {
  for (const auto& shape : kShapes) {
    for (const auto& [type, short_type, tolerance] :
         {std::tuple{at::kDouble, at::kDouble, 1e-10}, std::tuple{at::kFloat, at::kFloat, 2e-5},
          std::tuple{at::kFloat, at::kBFloat16, 2e-5}, std::tuple{at::kFloat, at::kHalf, 2e-5}}) {
      const Inputs in = make_inputs(shape, short_type);
      const auto run = [&](at::ScalarType t, at::ScalarType branch_type, bool apart) {
        const at::Tensor x = in.x.to(t).clone().requires_grad_(), branch_bias = (in.weight + 1).to(t).requires_grad_();
        const at::Tensor branch = in.branch.to(branch_type), weight = in.weight.to(t), bias = in.bias.to(t);
        const NormalizedSum result = apart ? add_layer_norm(x, branch, weight, bias, kEps, branch_type, branch_bias)
                                           : plain(x, branch + branch_bias, weight, bias);
        const at::Tensor loss =
            (result.normalized.to(at::kDouble) * in.grad_out).sum() + (result.sum.to(at::kDouble) * in.grad_sum).sum();
        auto all = torch::autograd::grad({loss}, {x, branch_bias});
        all.push_back(result.sum.detach());
        return all;
      };
      const auto expected = run(at::kDouble, at::kDouble, false), got = run(type, short_type, true);
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].sizes(), expected[i].sizes());
        const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
        EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size)
            << "tensor " << i << " of " << in.x.sizes() << " " << toString(short_type);
      }
    }
  }
}

TEST(AddLayerNorm, SplitTokensAreThoseOfTheWhole) {
  for (const int64_t width : {5, 64, 768}) {
    for (const int64_t head : {0, 1, 4, 7}) {
      for (const auto& [type, short_type] : {std::pair{at::kDouble, at::kDouble}, std::pair{at::kFloat, at::kBFloat16}}) {
        const Inputs in = make_inputs({3, 7, width}, short_type);
        const at::Tensor weight = in.weight.to(type), bias = in.bias.to(type), branch = in.branch.to(short_type);
        const auto run = [&](bool split, bool uses_head, bool uses_rest) {
          const at::Tensor x = in.x.to(type).clone().requires_grad_();
          SplitTokens tokens;
          if (split) {
            tokens = add_layer_norm_split(x, branch, weight, bias, kEps, short_type, {}, head);
          } else {
            const at::Tensor whole = add_layer_norm(x, branch, weight, bias, kEps, short_type).normalized;
            tokens = {whole.slice(1, 0, head), whole.slice(1, head)};
          }
          at::Tensor loss = at::zeros({}, in.x.options());
          if (uses_head) loss = loss + (tokens.head.to(at::kDouble) * in.grad_out.slice(1, 0, head)).sum();
          if (uses_rest) loss = loss + (tokens.rest.to(at::kDouble) * in.grad_out.slice(1, head)).sum();
          return std::vector<at::Tensor>{tokens.head.detach(), tokens.rest.detach(), torch::autograd::grad({loss}, {x})[0]};
        };
        for (const auto& [uses_head, uses_rest] : {std::pair{true, true}, std::pair{false, true}, std::pair{true, false}}) {
          const auto got = run(true, uses_head, uses_rest), expected = run(false, uses_head, uses_rest);
          for (size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(got[i].equal(expected[i])) << i << " " << width << " " << head;
        }
      }
    }
  }
  const Inputs in = make_inputs({2, 3, 8}, at::kDouble);
  EXPECT_THROW(add_layer_norm_split(in.x, {}, in.weight, in.bias, kEps, at::kDouble, {}, 4), Error);
}

TEST(AddLayerNorm, RowsThatBeginWithinAVector) {
  const Inputs in = make_inputs({6, 12}, at::kDouble);
  const at::Tensor x = in.x.to(at::kFloat), weight = in.weight.to(at::kFloat), bias = in.bias.to(at::kFloat);
  const at::Tensor shifted = at::cat({at::zeros({1}, x.options()), x.flatten()}).slice(0, 1).view({6, 12});
  const at::Tensor expected = at::layer_norm(in.x, {12}, in.weight, in.bias, kEps);
  const at::Tensor normalized = add_layer_norm(shifted, {}, weight, bias, kEps, at::kFloat).normalized;
  EXPECT_LT((normalized - expected).abs().max().item<double>(), 4e-6);  // float32
}

TEST(AddLayerNorm, SumAloneHasItsGradient) {
  const Inputs in = make_inputs({2, 3, 8}, at::kDouble);
  const at::Tensor x = in.x.clone().requires_grad_(), branch = in.branch.clone().requires_grad_();
  const NormalizedSum result = add_layer_norm(x, branch, in.weight, in.bias, kEps, at::kDouble);
  (result.sum * in.grad_sum).sum().backward();
  EXPECT_TRUE(x.grad().equal(in.grad_sum));
  EXPECT_TRUE(branch.grad().equal(in.grad_sum));
}

TEST(AddLayerNorm, ShapesThatDoNotFitAreRefused) {
  const Inputs in = make_inputs({2, 3, 8}, at::kDouble);
  EXPECT_THROW(add_layer_norm(in.x, in.branch[0], in.weight, in.bias, kEps, at::kDouble), Error);
  EXPECT_THROW(add_layer_norm(in.x, {}, in.weight.narrow(0, 0, 7), in.bias, kEps, at::kDouble), Error);
  EXPECT_THROW(add_layer_norm(in.x, {}, in.weight, in.bias, kEps, at::kDouble, in.bias), Error);  // the bias of no branch
}

}  // namespace
}  // namespace tessera
