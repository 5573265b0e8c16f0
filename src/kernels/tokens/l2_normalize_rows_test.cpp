#include "kernels/tokens/l2_normalize_rows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

// The result and the gradient of x.
template <class Compute>
std::vector<at::Tensor> with_gradient(const at::Tensor& values, const at::Tensor& grad_out, const Compute& compute) {
  const at::Tensor x = values.clone().requires_grad_();
  const at::Tensor result = compute(x);
  return {result.detach(), torch::autograd::grad({(result.to(at::kDouble) * grad_out).sum()}, {x})[0]};
}

TEST(L2NormalizeRows, EqualsTorchInBothDirections) {
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2, 5, 64}, {1, 1}, {3, 7, 150}, {2, 9, 768}, {17, 129}, {1, 3, 1033}, {4}}) {
    at::manual_seed(shape.back());
    const auto made = [&] { return at::randn(shape, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble); };
    const at::Tensor x = made() * 4, grad_out = made();
    const auto expected = with_gradient(x, grad_out, [](const at::Tensor& v) { return v / v.norm(2, -1, true); });
    for (const auto& [type, tolerance] : {std::pair{at::kDouble, 1e-12}, std::pair{at::kFloat, 1e-6},
                                          std::pair{at::kBFloat16, 4e-3}, std::pair{at::kHalf, 5e-4}}) {
      const auto got = with_gradient(x.to(type), grad_out, l2_normalize_rows);
      for (size_t i = 0; i < 2; ++i) {
        ASSERT_EQ(got[i].sizes(), expected[i].sizes());
        ASSERT_EQ(got[i].scalar_type(), type);
        const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
        EXPECT_LT((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), tolerance * size)
            << "tensor " << i << " of " << x.sizes() << " " << toString(type);
      }
    }
  }
}

TEST(L2NormalizeRows, RowsThatAreNotContiguous) {
  const at::Tensor x = at::randn({3, 6, 16}, at::kFloat).to(testing::test_device());
  EXPECT_TRUE(l2_normalize_rows(x.slice(1, 2)).equal(l2_normalize_rows(x.slice(1, 2).contiguous())));
  EXPECT_EQ(l2_normalize_rows(x.slice(0, 0, 0)).numel(), 0);
}

TEST(L2NormalizeRows, ASingleNumberIsRefused) {
  EXPECT_THROW(l2_normalize_rows(at::zeros({})), Error);
}

}  // namespace
}  // namespace tessera
