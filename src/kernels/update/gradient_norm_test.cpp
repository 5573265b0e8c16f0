#include "kernels/update/gradient_norm.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "kernels/update/loss_scaling.h"
#include "support/test_device.h"

namespace tessera {
namespace {

at::Tensor gradients(int64_t count, at::ScalarType type) {
  return at::sin(at::arange(count, at::kDouble) * 0.37).to(testing::test_device(), type);
}

TEST(GradientNorm, IsThatOfTorchForAnyLength) {
  for (const int64_t count : {1, 3, 5, 255, 1024, 4097, 70'003}) {
    for (const at::ScalarType type : {at::kDouble, at::kFloat}) {
      const at::Tensor grads = gradients(count, type);
      const double expected = grads.to(at::kDouble).norm().item<double>();
      const GradientNorm free = gradient_norm(grads, 0), clipped = gradient_norm(grads, 0.5);
      // Both are float64 sums of the same squares.
      EXPECT_NEAR(free.norm.item<double>(), expected, 1e-12 * std::max(expected, 1.0)) << count;
      EXPECT_EQ(free.clip_factor.item<double>(), 1);
      EXPECT_NEAR(clipped.clip_factor.item<double>(), std::min(0.5 / (expected + 1e-6), 1.0), 1e-13) << count;
      EXPECT_EQ(clipped.norm.device(), grads.device());
    }
  }
}

TEST(GradientNorm, SliceThatBeginsWithinAVector) {
  const at::Tensor grads = gradients(9001, at::kFloat);
  for (const int64_t begin : {1, 2, 3, 4}) {
    const at::Tensor slice = grads.narrow(0, begin, 9001 - begin);
    EXPECT_NEAR(gradient_norm(slice, 0).norm.item<double>(), slice.to(at::kDouble).norm().item<double>(), 1e-11);
  }
}

at::Tensor scaling_of(const LossScaling& s) {
  return at::tensor({s.scale, s.good_steps, s.applied_steps, s.skipped_steps, s.adapts, s.held}, at::kDouble)
      .to(testing::test_device());
}

TEST(GradientNorm, LossScaleIsTakenOut) {
  const at::Tensor grads = gradients(5000, at::kFloat);
  const GradientNorm plain = gradient_norm(grads, 3), scaled = gradient_norm(grads * 4096, 3, scaling_of({.scale = 4096}));
  EXPECT_EQ(plain.norm.item<double>(), scaled.norm.item<double>());
  EXPECT_EQ(plain.clip_factor.item<double>() / 4096, scaled.clip_factor.item<double>());
}

TEST(GradientNorm, LossScalingMovesOn) {
  at::Tensor grads = gradients(300, at::kFloat);
  const at::Tensor scaling = scaling_of({.scale = 8, .good_steps = 1998, .applied_steps = 5000, .skipped_steps = 7});
  const auto expect = [&](double scale, double good, double applied, double skipped) {
    EXPECT_TRUE(scaling.cpu().equal(at::tensor({scale, good, applied, skipped, 1.0, 0.0}, at::kDouble))) << scaling;
  };
  gradient_norm(grads, 0, scaling);
  expect(8, 1999, 5001, 7);
  EXPECT_EQ(gradient_norm(grads, 0, scaling).clip_factor.item<double>(), 1.0 / 8);  // of the scale that made the gradients
  expect(16, 0, 5002, 7);
  gradient_norm(grads, 0, scaling);
  expect(16, 1, 5003, 7);
  grads[17] = std::numeric_limits<float>::infinity();
  EXPECT_TRUE(std::isnan(gradient_norm(grads, 0, scaling).clip_factor.item<double>()));
  expect(8, 0, 5003, 8);
}

// Without a scale to halve, a step that is not finite holds those after it.
TEST(GradientNorm, NothingIsAppliedWhileAStepIsHeld) {
  const at::Tensor good = gradients(300, at::kFloat);
  at::Tensor bad = good.clone();
  bad[299] = std::numeric_limits<float>::quiet_NaN();
  for (const double adapts : {0.0, 1.0}) {
    const LossScaling before{.scale = 1, .good_steps = 4, .applied_steps = 6, .skipped_steps = 2, .adapts = adapts};
    LossScaling held = before;
    held.held = 1;
    const at::Tensor scaling = scaling_of(before);
    for (const at::Tensor& grads : {bad, good}) {
      EXPECT_TRUE(std::isnan(gradient_norm(grads, 0, scaling).clip_factor.item<double>()));
      EXPECT_TRUE(scaling.equal(scaling_of(held))) << scaling;
    }
    scaling[5] = 0;
    EXPECT_EQ(gradient_norm(good, 0, scaling).clip_factor.item<double>(), 1);
    EXPECT_EQ(scaling[2].item<double>(), 7);
  }
}

TEST(GradientNorm, WhatIsNotFiniteGivesNoFactor) {
  for (const double bad : {std::numeric_limits<double>::infinity(), std::nan("")}) {
    at::Tensor grads = gradients(3000, at::kFloat);
    grads[2999] = bad;
    for (const double max_norm : {0.0, 1.0}) {
      const GradientNorm result = gradient_norm(grads, max_norm);
      EXPECT_FALSE(std::isfinite(result.norm.item<double>()));
      EXPECT_TRUE(std::isnan(result.clip_factor.item<double>()));
    }
  }
}

TEST(GradientNorm, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  const at::Tensor grads = gradients(500'003, at::kFloat);
  at::set_num_threads(1);
  const auto one = gradient_norm(grads, 0).norm.item<double>();
  at::set_num_threads(2);
  const auto two = gradient_norm(grads, 0).norm.item<double>();
  at::set_num_threads(threads);
  EXPECT_EQ(one, two);
}

}  // namespace
}  // namespace tessera
