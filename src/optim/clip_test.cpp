#include "optim/clip.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "support/fixtures.h"

namespace tessera {
namespace {

TEST(ClipGradNorm, IsThatOfTorch) {
  const auto fixture = testing::load_fixture("torch_optim.json");
  for (const auto& entry : fixture.at("clip")) {
    at::Tensor grads = ((at::arange(12, at::kLong) * 53 + 7) % 31 - 15).to(at::kDouble) / 8;
    grads[2] = 0;
    const at::Tensor norm = clip_grad_norm(grads, entry.at("max_norm"));
    EXPECT_NEAR(norm.item<double>(), entry.at("norm"), 1e-14);  // one sum of 12 squares
    const auto expected = entry.at("clipped").get<std::vector<double>>();
    for (int64_t i = 0; i < 12; ++i) EXPECT_NEAR(grads[i].item<double>(), expected[static_cast<size_t>(i)], 1e-14);
  }
}

TEST(ClipGradNorm, ZeroOnlyMeasures) {
  at::Tensor grads = at::tensor({3.0F, 4.0F});
  EXPECT_EQ(clip_grad_norm(grads, 0).item<double>(), 5);
  EXPECT_EQ(grads[1].item<float>(), 4);
}

TEST(ClipGradNorm, ThreadsDoNotChangeABit) {
  const int threads = at::get_num_threads();
  at::Tensor grads = at::sin(at::arange(500'003, at::kFloat));
  at::set_num_threads(1);
  const auto one = clip_grad_norm(grads, 0).item<double>();
  at::set_num_threads(2);
  const auto two = clip_grad_norm(grads, 0).item<double>();
  at::set_num_threads(threads);
  EXPECT_EQ(one, two);
  // Both are float64 sums of the same squares.
  EXPECT_NEAR(one, grads.to(at::kDouble).norm().item<double>(), 1e-10);
}

}  // namespace
}  // namespace tessera
