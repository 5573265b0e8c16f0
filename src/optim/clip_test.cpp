#include "optim/clip.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(ClipGradNorm, IsThatOfTorch) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  for (const auto& entry : fixture.at("clip")) {
    at::Tensor grads = ((at::arange(12, at::kLong) * 53 + 7) % 31 - 15).to(at::kDouble) / 8;
    grads[2] = 0;
    const GradientNorm clip = clip_grad_norm(grads, entry.at("max_norm"));
    if (clip.clip_factor.defined()) grads *= clip.clip_factor;
    EXPECT_NEAR(clip.norm.item<double>(), entry.at("norm"), 1e-14);  // one sum of 12 squares
    const auto expected = entry.at("clipped").get<std::vector<double>>();
    for (int64_t i = 0; i < 12; ++i) EXPECT_NEAR(grads[i].item<double>(), expected[i], 1e-14);
  }
}

TEST(ClipGradNorm, ZeroOnlyMeasures) {
  const GradientNorm clip = clip_grad_norm(at::tensor({3.0F, 4.0F}), 0);
  EXPECT_EQ(clip.norm.item<double>(), 5);
  EXPECT_FALSE(clip.clip_factor.defined());
}

TEST(ClipGradNorm, TakesTheLossScaleOut) {
  const GradientNorm clip =
      clip_grad_norm(at::tensor({3.0F, 4.0F}) * 1024, 0, at::tensor({1024.0, 0.0, 0.0, 0.0, 1.0, 0.0}, at::kDouble));
  EXPECT_EQ(clip.norm.item<double>(), 5);
  EXPECT_EQ(clip.clip_factor.item<double>(), 1.0 / 1024);
}

}  // namespace
}  // namespace tessera
