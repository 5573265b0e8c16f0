#include "kernels/features/patch_conv.h"

#include <gtest/gtest.h>
#include <torch/autograd.h>
#include <torch/types.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct ConvCase {
  int64_t images, channels, height, width, outputs, kernel, padding;
  at::ScalarType type;
};

class PatchConv : public ::testing::TestWithParam<ConvCase> {};

TEST_P(PatchConv, EqualsTheConvolutionInFloat64) {
  const ConvCase c = GetParam();
  torch::manual_seed(9);
  const auto options = at::TensorOptions(testing::test_device()).dtype(c.type);
  const auto last = at::MemoryFormat::ChannelsLast;
  const double tolerance = c.type == at::kDouble ? 1e-11 : c.type == at::kFloat ? 1e-4 : c.type == at::kHalf ? 4e-3 : 3e-2;
  const at::Tensor weight =
      torch::randn({c.outputs, c.channels, c.kernel, c.kernel}, options).contiguous(last).requires_grad_();
  const at::Tensor wide_weight = weight.detach().to(at::kDouble).requires_grad_();
  const at::Tensor planes = torch::randn({c.images, c.channels, c.height, c.width}, options);
  for (const at::Tensor& x : {planes, planes.contiguous(last)}) {
    ASSERT_TRUE(can_use_patch_conv(x, weight));
    const at::Tensor ours = patch_conv(x, weight, c.padding);
    const at::Tensor expected = at::conv2d(x.to(at::kDouble), wide_weight, {}, 1, c.padding);
    ASSERT_EQ(ours.sizes(), expected.sizes());
    EXPECT_EQ(ours.scalar_type(), c.type);
    EXPECT_TRUE(ours.is_contiguous(last));
    const double scale = expected.abs().max().item<double>();
    EXPECT_LE((ours.to(at::kDouble) - expected).abs().max().item<double>(), tolerance * scale);
    const at::Tensor grad_out = torch::randn(expected.sizes(), options).contiguous(last);
    const at::Tensor found = torch::autograd::grad({ours}, {weight}, {grad_out})[0];
    const at::Tensor wanted = torch::autograd::grad({expected}, {wide_weight}, {grad_out.to(at::kDouble)})[0];
    EXPECT_TRUE(found.is_contiguous(last));
    EXPECT_LE((found.to(at::kDouble) - wanted).abs().max().item<double>(), tolerance * wanted.abs().max().item<double>());
  }
}

// A U-Net's first convolution; lines longer than a block's part; every kernel and padding that fits.
INSTANTIATE_TEST_SUITE_P(
    Shapes, PatchConv,
    ::testing::Values(ConvCase{2, 3, 9, 13, 64, 3, 1, at::kBFloat16}, ConvCase{1, 3, 3, 300, 8, 3, 1, at::kFloat},
                      ConvCase{2, 1, 6, 5, 8, 3, 0, at::kDouble}, ConvCase{1, 4, 7, 8, 16, 3, 1, at::kHalf},
                      ConvCase{1, 2, 8, 9, 8, 5, 2, at::kFloat}, ConvCase{2, 7, 4, 4, 8, 3, 1, at::kDouble},
                      ConvCase{1, 12, 5, 4, 8, 1, 0, at::kFloat}, ConvCase{1, 1, 1, 1, 8, 3, 1, at::kFloat}));

// The order within a patch, and what fills it up.
TEST(PatchRows, HoldRowsThenColumnsThenChannels) {
  const auto options = at::TensorOptions(testing::test_device()).dtype(at::kFloat);
  const at::Tensor x = torch::arange(1, 9, options).view({1, 2, 2, 2});  // 1 to 4 in the first channel, 5 to 8 in the second
  const at::Tensor rows = patch_rows(x, 2, 0);
  EXPECT_TRUE(rows.cpu().equal(torch::tensor({{1.F, 5.F, 2.F, 6.F, 3.F, 7.F, 4.F, 8.F}})));
  const at::Tensor wide = patch_rows(x.narrow(1, 0, 1), 2, 1);
  EXPECT_EQ(wide.sizes(), (std::vector<int64_t>{9, 8}));
  EXPECT_TRUE(wide[0].cpu().equal(torch::tensor({0.F, 0.F, 0.F, 1.F, 0.F, 0.F, 0.F, 0.F})));
  EXPECT_TRUE(wide[5].cpu().equal(torch::tensor({2.F, 0.F, 4.F, 0.F, 0.F, 0.F, 0.F, 0.F})));
}

TEST(PatchConvolution, LeavesLongPatchesAndGradientsOfTheImageToOthers) {
  const auto options = at::TensorOptions(testing::test_device());
  const at::Tensor x = torch::randn({1, 8, 5, 5}, options), image = torch::randn({1, 3, 5, 5}, options);
  const at::Tensor weight = torch::randn({8, 3, 3, 3}, options);
  EXPECT_FALSE(can_use_patch_conv(x, torch::randn({8, 8, 3, 3}, options)));
  EXPECT_FALSE(can_use_patch_conv(image.clone().requires_grad_(), weight));
  EXPECT_FALSE(can_use_patch_conv(image, torch::randn({5, 3, 3, 3}, options)));
  EXPECT_THROW(patch_conv(x, weight, 1), Error);
  EXPECT_THROW(patch_conv(image, weight.to(at::kDouble), 1), Error);
  EXPECT_THROW(patch_rows(image, 7, 0), Error);
}

}  // namespace
}  // namespace tessera
