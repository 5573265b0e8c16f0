#include "kernels/tokens/bias_gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

at::Tensor made(at::IntArrayRef sizes) {
  at::manual_seed(sizes.back());
  return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
}

void expect_sums(const at::Tensor& grad_out, at::ScalarType type, double tolerance) {
  const at::ScalarType bias_type = type == at::kDouble ? at::kDouble : at::kFloat;
  const at::Tensor y = at::zeros(grad_out.sizes(), grad_out.options().dtype(type)).requires_grad_();
  const at::Tensor bias = at::zeros({grad_out.size(-1)}, grad_out.options().dtype(bias_type)).requires_grad_();
  const at::Tensor result = with_bias_gradient(y, bias);
  EXPECT_EQ(result.data_ptr(), y.data_ptr());
  const auto gradients = torch::autograd::grad({result}, {y, bias}, {grad_out.to(type)});
  EXPECT_TRUE(gradients[0].equal(grad_out.to(type)));
  ASSERT_EQ(gradients[1].sizes(), bias.sizes());
  EXPECT_EQ(gradients[1].scalar_type(), bias_type);
  const at::Tensor expected = grad_out.to(type).to(at::kDouble).reshape({-1, grad_out.size(-1)}).sum(0);
  const double size = std::max(expected.abs().max().item<double>(), 1.0);
  EXPECT_LT((gradients[1].to(at::kDouble) - expected).abs().max().item<double>(), tolerance * size)
      << grad_out.sizes() << " " << toString(type);
}

TEST(BiasGradient, EqualsTheSumInFloat64) {
  const std::vector<std::vector<int64_t>> shapes = {{2, 5, 64}, {1}, {3, 97, 17}, {300, 24}, {1, 3, 1033}, {5, 3072}, {131, 8}};
  for (const auto& shape : shapes) {
    const at::Tensor grad_out = made(shape);
    expect_sums(grad_out, at::kDouble, 1e-12);
    for (const at::ScalarType type : {at::kFloat, at::kBFloat16, at::kHalf}) expect_sums(grad_out, type, 1e-6);
  }
}

TEST(BiasGradient, GradientsOfAnyLayout) {
  expect_sums(made({6, 40, 16}).transpose(0, 1), at::kBFloat16, 1e-6);
  const at::Tensor shifted = made({1, 97}).slice(1, 1).view({12, 8});  // rows begin within a vector
  expect_sums(shifted, at::kFloat, 1e-6);
  expect_sums(made({1, 8}).expand({70, 8}), at::kFloat, 1e-6);
}

TEST(BiasGradient, NoRowsSumToZero) {
  const auto options = at::TensorOptions(testing::test_device()).dtype(at::kFloat);
  const at::Tensor bias = at::ones({4}, options).requires_grad_();
  with_bias_gradient(at::zeros({0, 4}, options).requires_grad_(), bias).sum().backward();
  EXPECT_TRUE(bias.grad().equal(at::zeros({4}, options)));
}

// More blocks than a grid's second dimension has.
TEST(BiasGradient, MillionsOfRows) {
  const at::Tensor ones = at::ones({}, at::TensorOptions(testing::test_device()).dtype(at::kFloat));
  const int64_t rows = 65535 * 128 + 1;
  EXPECT_EQ(sum_rows(ones.expand({rows, 1}).contiguous()).item<int64_t>(), rows);
}

TEST(BiasGradient, WrongBiasIsRefused) {
  EXPECT_THROW(with_bias_gradient(at::zeros({2, 4}), at::zeros({3})), Error);
}

}  // namespace
}  // namespace tessera
