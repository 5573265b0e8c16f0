#include "kernels/join_channels.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "support/test_device.h"

namespace tessera {
namespace {

struct JoinCase {
  int64_t images, a, b, height, width;
  at::ScalarType type;
};

class JoinChannels : public ::testing::TestWithParam<JoinCase> {};

TEST_P(JoinChannels, EqualsAddingAndConcatenating) {
  const JoinCase c = GetParam();
  torch::manual_seed(7);
  const auto options = at::TensorOptions(testing::test_device()).dtype(c.type);
  const auto sum_type = c.type == at::kDouble ? at::kDouble : at::kFloat;
  const auto last = at::MemoryFormat::ChannelsLast;
  const auto leaf = [&](int64_t channels) {
    return torch::randn({c.images, channels, c.height, c.width}, options).contiguous(last).requires_grad_();
  };
  const at::Tensor a = leaf(c.a), b = leaf(c.b);
  const at::Tensor bias = torch::randn({c.a}, options.dtype(sum_type)).requires_grad_();
  const at::Tensor ours = join_channels(a, bias, b);
  EXPECT_TRUE(ours.is_contiguous(last));
  const at::Tensor sum = (a.to(sum_type) + bias.view({1, -1, 1, 1})).to(c.type), expected = torch::cat({sum, b}, 1);
  EXPECT_TRUE(ours.equal(expected));
  const at::Tensor slope = torch::randn_like(expected);
  const auto found = torch::autograd::grad({ours}, {a, bias, b}, {slope});
  const auto wanted = torch::autograd::grad({expected}, {a, bias, b}, {slope});
  EXPECT_TRUE(found[0].equal(wanted[0]));
  EXPECT_TRUE(found[0].is_contiguous(last));
  EXPECT_TRUE(found[2].equal(wanted[2]));
  const double tolerance = c.type == at::kDouble ? 1e-12 : 2e-4;
  EXPECT_TRUE(torch::allclose(found[1], slope.narrow(1, 0, c.a).to(sum_type).sum({0, 2, 3}), tolerance, tolerance));
}

INSTANTIATE_TEST_SUITE_P(Shapes, JoinChannels,
                         ::testing::Values(JoinCase{2, 8, 16, 5, 7, at::kBFloat16}, JoinCase{1, 3, 5, 4, 6, at::kDouble},
                                           JoinCase{3, 64, 64, 9, 11, at::kHalf}, JoinCase{1, 1, 1, 1, 1, at::kFloat},
                                           JoinCase{2, 264, 8, 6, 3, at::kFloat}));

// Any layout, also a slice of wider rows; the same bits twice.
TEST(ChannelSums, AreThoseOfTorch) {
  torch::manual_seed(8);
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor wide = torch::randn({2, 33, 40, 19}, options).contiguous(at::MemoryFormat::ChannelsLast);
  for (const at::Tensor& x : {wide, wide.contiguous(), wide.narrow(1, 8, 16), wide.narrow(1, 3, 7), wide.narrow(2, 1, 5)}) {
    const at::Tensor sums = channel_sums(x);
    EXPECT_TRUE(torch::allclose(sums, x.sum({0, 2, 3}, false, at::kDouble).to(at::kFloat), 1e-4, 1e-4));
    EXPECT_TRUE(sums.equal(channel_sums(x)));
  }
}

TEST(JoinedChannels, SaysWhatDoesNotFit) {
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor a = torch::randn({1, 4, 3, 3}, options), bias = torch::randn({4}, options);
  EXPECT_ANY_THROW(join_channels(a, bias, torch::randn({1, 4, 3, 4}, options)));
  EXPECT_ANY_THROW(join_channels(a, bias, a.to(at::kDouble)));
  EXPECT_ANY_THROW(join_channels(a, torch::randn({3}, options), a));
}

}  // namespace
}  // namespace tessera
