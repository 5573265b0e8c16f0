#include "kernels/features/upconv_concat.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct UpconvCase {
  int64_t images, in, out, skip, height, width;
  at::ScalarType type;
};

class UpconvConcat : public ::testing::TestWithParam<UpconvCase> {};

// Against a transposed convolution in float64; in shorter types by their roundings of the products.
TEST_P(UpconvConcat, EqualsTheTransposedConvolutionBesideTheSkip) {
  const UpconvCase c = GetParam();
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
  const at::Tensor ours = upconv2x2_concat(x, weight, bias, skip);
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

INSTANTIATE_TEST_SUITE_P(Shapes, UpconvConcat,
                         ::testing::Values(UpconvCase{2, 16, 8, 16, 5, 7, at::kBFloat16},
                                           UpconvCase{1, 3, 5, 4, 6, 3, at::kDouble},
                                           UpconvCase{3, 32, 64, 64, 6, 4, at::kHalf}, UpconvCase{1, 1, 1, 1, 1, 1, at::kFloat},
                                           UpconvCase{2, 8, 264, 8, 3, 2, at::kFloat},
                                           UpconvCase{2, 8, 16, 4, 1, 9, at::kDouble}));

// A skip that lies in a concat buffer already stays where it is, and the result takes the buffer.
TEST(UpconvConcat, FillsTheBufferBesideTheSkip) {
  torch::manual_seed(8);
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor x = torch::randn({2, 8, 3, 5}, options), weight = torch::randn({8, 16, 2, 2}, options);
  const at::Tensor bias = torch::randn({16}, options), skip = torch::randn({2, 24, 6, 10}, options);
  const ConcatBuffer buffer = make_concat_buffer(16, skip);
  buffer.skip.copy_(skip);
  const at::Tensor leaf = buffer.skip.requires_grad_();
  const at::Tensor joined = upconv2x2_concat(x, weight, bias, leaf, buffer.whole);
  EXPECT_EQ(joined.const_data_ptr(), buffer.whole.const_data_ptr());
  EXPECT_TRUE(joined.equal(upconv2x2_concat(x, weight, bias, skip)));
  const at::Tensor grad_out = torch::randn_like(joined);
  EXPECT_TRUE(torch::autograd::grad({joined}, {leaf}, {grad_out})[0].equal(grad_out.narrow(1, 16, 24)));
  EXPECT_THROW(upconv2x2_concat(x, weight, bias, skip, buffer.whole), Error);
}

TEST(UpconvConcat, SaysWhatDoesNotFit) {
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor x = torch::randn({1, 4, 3, 3}, options), weight = torch::randn({4, 2, 2, 2}, options);
  const at::Tensor bias = torch::randn({2}, options), skip = torch::randn({1, 4, 6, 6}, options);
  EXPECT_THROW(upconv2x2_concat(x, torch::randn({3, 2, 2, 2}, options), bias, skip), Error);
  EXPECT_THROW(upconv2x2_concat(x, torch::randn({4, 2, 3, 3}, options), bias, skip), Error);
  EXPECT_THROW(upconv2x2_concat(x, weight, torch::randn({3}, options), skip), Error);
  EXPECT_THROW(upconv2x2_concat(x, weight, bias, torch::randn({1, 4, 6, 7}, options)), Error);
  EXPECT_THROW(upconv2x2_concat(x, weight, bias, skip.to(at::kDouble)), Error);
}

}  // namespace
}  // namespace tessera
