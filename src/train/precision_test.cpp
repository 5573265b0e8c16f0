#include "train/precision.h"

#include <gtest/gtest.h>
#include <torch/types.h>

namespace tessera {
namespace {

at::Tensor product(const at::Tensor& x, const at::Tensor& weight) {
  const at::NoGradGuard no_grad;
  const AutocastScope autocast(Precision::kBf16, at::kCPU);
  return at::linear(x, weight).to(at::kFloat);
}

// Weights that change meanwhile show which cast was used.
TEST(KeptCasts, KeepsCastsOfWeightsUntilItsEnd) {
  const at::Tensor x = torch::ones({1, 4}), weight = torch::ones({1, 4}).requires_grad_();
  const auto set = [&](double value) {
    const at::NoGradGuard no_grad;
    weight.fill_(value);
  };
  {
    const KeptCasts kept;
    EXPECT_EQ(product(x, weight).item<float>(), 4.0F);
    set(2);
    EXPECT_EQ(product(x, weight).item<float>(), 4.0F);
  }
  EXPECT_EQ(product(x, weight).item<float>(), 8.0F);
  set(3);
  EXPECT_EQ(product(x, weight).item<float>(), 12.0F);
}

}  // namespace
}  // namespace tessera
