#include "kernels/features/upconv_concat.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct JoinCase {
  int64_t images, in, out, skip, height, width;
  at::ScalarType type;
};

class DoubleJoin : public ::testing::TestWithParam<JoinCase> {};

// Against a transposed convolution in float64; in shorter types by their roundings of the products.
TEST_P(DoubleJoin, EqualsTheTransposedConvolutionBesideTheSkip) {
  const JoinCase c = GetParam();
  torch::manual_seed(7);
  const auto options = at::TensorOptions(testing::test_device()).dtype(c.type);
  const auto last = at::MemoryFormat::ChannelsLast;
  const double tolerance = c.type == at::kDouble ? 1e-11 : c.type == at::kFloat ? 1e-4 : c.type == at::kHalf ? 4e-3 : 3e-2;
  const at::Tensor x = torch::randn({c.images, c.in, c.height, c.width}, options).contiguous(last).requires_grad_();
  const at::Tensor weight =
      (torch::randn({c.in, c.out, 2, 2}, options) / std::sqrt(c.in)).to(c.type).contiguous(last).requires_grad_();
  const at::Tensor bias =
      torch::randn({c.out}, options.dtype(c.type == at::kDouble ? at::kDouble : at::kFloat)).requires_grad_();
  const at::Tensor skip =
      torch::randn({c.images, c.skip, 2 * c.height, 2 * c.width}, options).contiguous(last).requires_grad_();
  const at::Tensor ours = double_join(x, weight, bias, skip);
  EXPECT_TRUE(ours.is_contiguous(last));
  EXPECT_EQ(ours.scalar_type(), c.type);
  const std::vector<at::Tensor> inputs{x, weight, bias, skip};
  std::vector<at::Tensor> wide;
  for (const at::Tensor& input : inputs) wide.push_back(input.detach().to(at::kDouble).requires_grad_());
  const at::Tensor expected = at::cat({at::conv_transpose2d(wide[0], wide[1], wide[2], 2), wide[3]}, 1);
  EXPECT_TRUE(at::allclose(ours.detach().to(at::kDouble), expected, tolerance, tolerance));
  const at::Tensor grad_out = torch::randn(expected.sizes(), options).contiguous(last);
  const auto found = torch::autograd::grad({ours}, inputs, {grad_out});
  const auto wanted = torch::autograd::grad({expected}, wide, {grad_out.to(at::kDouble)});
  for (size_t i = 0; i < found.size(); ++i) {
    const double scale = wanted[i].abs().max().item<double>();
    EXPECT_TRUE(at::allclose(found[i].to(at::kDouble), wanted[i], tolerance, tolerance * scale)) << "gradient " << i;
  }
  EXPECT_TRUE(found[1].is_contiguous(last));
}

INSTANTIATE_TEST_SUITE_P(Shapes, DoubleJoin,
                         ::testing::Values(JoinCase{2, 16, 8, 16, 5, 7, at::kBFloat16}, JoinCase{1, 3, 5, 4, 6, 3, at::kDouble},
                                           JoinCase{3, 32, 64, 64, 6, 4, at::kHalf}, JoinCase{1, 1, 1, 1, 1, 1, at::kFloat},
                                           JoinCase{2, 8, 264, 8, 3, 2, at::kFloat}, JoinCase{2, 8, 16, 4, 1, 9, at::kDouble}));

// A skip that lies in its room already stays where it is, and the result takes the room.
TEST(DoubleJoin, FillsTheRoomBesideTheSkip) {
  torch::manual_seed(8);
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor x = torch::randn({2, 8, 3, 5}, options), weight = torch::randn({8, 16, 2, 2}, options);
  const at::Tensor bias = torch::randn({16}, options), skip = torch::randn({2, 24, 6, 10}, options);
  const JoinRoom room = room_beside(16, skip);
  room.skip.copy_(skip);
  const at::Tensor leaf = room.skip.requires_grad_();
  const at::Tensor joined = double_join(x, weight, bias, leaf, room.room);
  EXPECT_EQ(joined.const_data_ptr(), room.room.const_data_ptr());
  EXPECT_TRUE(joined.equal(double_join(x, weight, bias, skip)));
  const at::Tensor grad_out = torch::randn_like(joined);
  EXPECT_TRUE(torch::autograd::grad({joined}, {leaf}, {grad_out})[0].equal(grad_out.narrow(1, 16, 24)));
  EXPECT_THROW(double_join(x, weight, bias, skip, room.room), Error);
}

TEST(DoubleJoin, SaysWhatDoesNotFit) {
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor x = torch::randn({1, 4, 3, 3}, options), weight = torch::randn({4, 2, 2, 2}, options);
  const at::Tensor bias = torch::randn({2}, options), skip = torch::randn({1, 4, 6, 6}, options);
  EXPECT_THROW(double_join(x, torch::randn({3, 2, 2, 2}, options), bias, skip), Error);
  EXPECT_THROW(double_join(x, torch::randn({4, 2, 3, 3}, options), bias, skip), Error);
  EXPECT_THROW(double_join(x, weight, torch::randn({3}, options), skip), Error);
  EXPECT_THROW(double_join(x, weight, bias, torch::randn({1, 4, 6, 7}, options)), Error);
  EXPECT_THROW(double_join(x, weight, bias, skip.to(at::kDouble)), Error);
}

}  // namespace
}  // namespace tessera
