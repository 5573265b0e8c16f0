#include "infer/precision.h"

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

TEST(LossScaler, IsThereForFp16OnlyAndKeepsItsNumbers) {
  const at::Tensor loss = torch::tensor(0.5F);
  EXPECT_FALSE(LossScaler(Precision::kBf16, at::kCPU).enabled());
  EXPECT_EQ(LossScaler(Precision::kBf16, at::kCPU).read().scale, 1);
  EXPECT_TRUE(LossScaler(Precision::kBf16, at::kCPU).scaled(loss).equal(loss));
  LossScaler scaler(Precision::kFp16, at::kCPU);
  EXPECT_TRUE(scaler.scaled(loss).equal(torch::tensor(32768.0F)));
  scaler.restore({.scale = 16, .good_steps = 7, .applied_steps = 30, .skipped_steps = 2});
  EXPECT_TRUE(scaler.scaled(loss).equal(torch::tensor(8.0F)));
  const LossScaling back = scaler.read();
  EXPECT_EQ(back.scale + back.good_steps + back.applied_steps + back.skipped_steps, 16 + 7 + 30 + 2);
}

TEST(LossScaler, AStepThatWasHeldCountsAsLeftOut) {
  LossScaler scaler(Precision::kFp32, at::kCPU);
  scaler.restore({.applied_steps = 30, .skipped_steps = 2, .held = 1});
  scaler.release();
  const LossScaling now = scaler.read();
  EXPECT_EQ(now.held, 0);
  EXPECT_EQ(now.skipped_steps, 3);
  EXPECT_EQ(now.applied_steps, 30);
}

}  // namespace
}  // namespace tessera
