#include "kernels/tokens/bias_gelu.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct Inputs {
  at::Tensor x, bias, grad_out;
};

Inputs make_inputs(at::IntArrayRef shape) {
  at::manual_seed(shape.back());
  const auto made = [&](at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
  };
  return {made(shape) * 2, made({shape.back()}), made(shape)};
}

// The result and the gradients of x and bias.
template <class Compute>
std::vector<at::Tensor> with_gradients(const Inputs& in, at::ScalarType type, const Compute& compute) {
  const at::Tensor x = in.x.to(type).clone().requires_grad_();
  const at::Tensor bias = in.bias.to(type == at::kDouble ? at::kDouble : at::kFloat).clone().requires_grad_();
  const at::Tensor result = compute(x, bias);
  const auto gradients = torch::autograd::grad({(result.to(at::kDouble) * in.grad_out).sum()}, {x, bias});
  return {result.detach(), gradients[0], gradients[1]};
}

void expect_equal(const Inputs& in, at::ScalarType type, double tolerance) {
  const auto expected =
      with_gradients(in, at::kDouble, [](const at::Tensor& x, const at::Tensor& b) { return at::gelu(x + b); });
  const auto got = with_gradients(in, type, bias_gelu);
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
    EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size)
        << "tensor " << i << " of " << in.x.sizes() << " " << toString(type);
  }
}

const std::vector<std::vector<int64_t>> kShapes = {{2, 5, 64}, {1, 1, 1}, {3, 97, 17}, {300, 24}, {1, 3, 1033}, {5, 3072}};

TEST(BiasGelu, EqualsTorchInBothDirections) {
  for (const auto& shape : kShapes) {
    const Inputs in = make_inputs(shape);
    expect_equal(in, at::kDouble, 1e-10);
    expect_equal(in, at::kFloat, 1e-5);
    expect_equal(in, at::kBFloat16, 5e-3);  // rounded once, to 8 bits: half of 2^-8 of the largest value
    expect_equal(in, at::kHalf, 1e-3);
  }
}

TEST(BiasGelu, TailsAreExact) {
  const auto options = at::TensorOptions(testing::test_device()).dtype(at::kFloat);
  const at::Tensor x = at::tensor({-40.0F, 0.0F, 40.0F}).to(testing::test_device()).view({3, 1});
  const at::Tensor result = bias_gelu(x, at::zeros({1}, options)).flatten().cpu();
  EXPECT_EQ(result[0].item<float>(), 0);
  EXPECT_EQ(result[1].item<float>(), 0);
  EXPECT_EQ(result[2].item<float>(), 40);
}

TEST(BiasGelu, WrongBiasIsRefused) {
  EXPECT_THROW(bias_gelu(at::zeros({2, 4}), at::zeros({3})), Error);
}

}  // namespace
}  // namespace tessera
