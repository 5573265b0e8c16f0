#include "nn/blocks/pointwise_fork.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

namespace tessera {
namespace {

// One of the two outputs is used, the other, or both.
TEST(PointwiseFork, GradientsAreThoseOfTheParts) {
  torch::manual_seed(10);
  const auto last = at::MemoryFormat::ChannelsLast;
  const at::Tensor leaf = torch::randn({2, 6, 5, 7}, torch::kDouble).contiguous(last).requires_grad_();
  const at::Tensor weight = torch::randn({4, 6, 1, 1}, torch::kDouble).requires_grad_();
  const at::Tensor grad_out = torch::randn({2, 4, 5, 7}, torch::kDouble), beside = torch::randn({2, 6, 5, 7}, torch::kDouble);
  for (const auto& [product, kept] : {std::pair{true, true}, {true, false}, {false, true}}) {
    const auto loss = [&](const at::Tensor& y, const at::Tensor& x) {
      at::Tensor sum = torch::zeros({}, torch::kDouble);
      if (product) sum = sum + (y.square() * grad_out).sum();
      if (kept) sum = sum + (x.square() * beside).sum();
      return sum;
    };
    const at::Tensor x = leaf * 2, other = leaf * 2;  // not leaves, as in a network
    const auto [y, same] = pointwise_and_keep(x, weight);
    const at::Tensor expected = torch::conv2d(other, weight);
    EXPECT_TRUE(torch::allclose(y, expected, 1e-12, 1e-12));
    EXPECT_TRUE(same.equal(x));
    const auto found = torch::autograd::grad({loss(y, same)}, {leaf, weight}, {}, {}, false, /*allow_unused=*/true);
    const auto wanted = torch::autograd::grad({loss(expected, other)}, {leaf, weight}, {}, {}, false, /*allow_unused=*/true);
    for (size_t i = 0; i < wanted.size(); ++i) {
      ASSERT_EQ(found[i].defined(), wanted[i].defined());
      if (!wanted[i].defined()) continue;
      EXPECT_TRUE(torch::allclose(found[i], wanted[i], 1e-12, 1e-12));
    }
  }
}

}  // namespace
}  // namespace tessera
