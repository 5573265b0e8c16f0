#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/features/resize_bilinear.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::largest_difference;
using Shapes = std::vector<std::vector<int64_t>>;  // channels, height, width of each tensor

struct Case {
  int64_t images;
  Shapes shapes;
  std::vector<int64_t> size;
};

// Pyramid pooling, a decoder, one tensor, channels that are no whole vectors, more tensors than one launch takes.
const std::vector<Case> kCases = {
    {2, {{16, 12, 12}, {8, 1, 1}, {8, 2, 2}, {8, 3, 3}, {8, 6, 6}}, {12, 12}},
    {1, {{8, 5, 7}, {16, 20, 28}}, {20, 28}},
    {2, {{8, 4, 4}}, {9, 6}},
    {1, {{5, 3, 3}, {3, 6, 7}, {1, 12, 14}}, {6, 7}},
    {1, {{8, 6, 7}, {24, 6, 7}}, {6, 7}},
    {1,
     {{8, 1, 1}, {8, 2, 2}, {8, 3, 3}, {8, 4, 4}, {8, 5, 5}, {8, 6, 6}, {8, 7, 7}, {8, 8, 8}, {8, 9, 9}, {16, 3, 9}},
     {8, 9}},
};

std::vector<at::Tensor> tensors(const Case& c, at::ScalarType type, bool channels_last) {
  at::manual_seed(1);
  std::vector<at::Tensor> all;
  for (const auto& s : c.shapes) {
    all.push_back(at::randn({c.images, s[0], s[1], s[2]}, at::kDouble)
                      .to(testing::test_device(), type)
                      .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous)
                      .requires_grad_());
  }
  return all;
}

at::Tensor plain(const std::vector<at::Tensor>& xs, at::IntArrayRef size, bool align_corners) {
  std::vector<at::Tensor> parts;
  for (const at::Tensor& x : xs) parts.push_back(at::upsample_bilinear2d(x, size, align_corners));
  return at::cat(parts, 1);
}

TEST(ResizeConcat, EqualsResizingAndConcatenating) {
  for (const Case& c : kCases) {
    for (const bool channels_last : {false, true}) {
      for (const bool align_corners : {false, true}) {
        const auto ours = tensors(c, at::kDouble, channels_last), theirs = tensors(c, at::kDouble, channels_last);
        const at::Tensor a = resize_concat(ours, c.size, align_corners), b = plain(theirs, c.size, align_corners);
        EXPECT_LT(largest_difference(a, b), 1e-12);
        EXPECT_EQ(a.is_contiguous(at::MemoryFormat::ChannelsLast), channels_last);
        const at::Tensor grad_out = at::randn(b.sizes(), b.options()).contiguous(a.suggest_memory_format());
        a.backward(grad_out);
        b.backward(grad_out);
        for (size_t i = 0; i < ours.size(); ++i) EXPECT_LT(largest_difference(ours[i].grad(), theirs[i].grad()), 1e-10) << i;
      }
    }
  }
}

// What is copied is copied to the bit; what is resized equals the op that only resizes.
TEST(ResizeConcat, SlicesAreThoseOfTheSingleOp) {
  const Case& c = kCases[0];
  const auto xs = tensors(c, at::kBFloat16, true);
  const at::Tensor joined = resize_concat(xs, c.size, false);
  int64_t channel = 0;
  for (const at::Tensor& x : xs) {
    EXPECT_TRUE(joined.narrow(1, channel, x.size(1)).equal(resize_bilinear(x, c.size, false)));
    channel += x.size(1);
  }
  EXPECT_TRUE(joined.narrow(1, 0, 16).equal(xs[0]));
}

TEST(ResizeConcat, TakesTheWidestTypeAndAnyMixOfLayouts) {
  const Case& c = kCases[1];
  const at::Tensor low = tensors(c, at::kBFloat16, false)[0], high = tensors(c, at::kFloat, true)[1];
  const at::Tensor joined = resize_concat({low, high}, c.size, false);
  EXPECT_EQ(joined.scalar_type(), at::kFloat);
  EXPECT_TRUE(joined.is_contiguous(at::MemoryFormat::ChannelsLast));
  EXPECT_LT(largest_difference(joined, plain({low.to(at::kFloat), high}, c.size, false)), 1e-5);
  joined.sum().backward();
  EXPECT_EQ(low.grad().scalar_type(), at::kBFloat16);
}

// The second of three launches has whole vectors of channels, but does not begin with one.
TEST(ResizeConcat, ManyTensors) {
  std::vector<at::Tensor> xs;
  for (const int64_t channels : {4, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4}) {
    const at::Tensor x = at::randn({1, channels, 2, 2}).to(testing::test_device(), at::kBFloat16);
    xs.push_back(x.contiguous(at::MemoryFormat::ChannelsLast));
  }
  const at::Tensor joined = resize_concat(xs, {3, 3}, false);
  int64_t channel = 0;
  for (const at::Tensor& x : xs) {
    EXPECT_TRUE(joined.narrow(1, channel, x.size(1)).equal(resize_bilinear(x, {3, 3}, false)));
    channel += x.size(1);
  }
}

TEST(ResizeConcat, SaysWhatItExpects) {
  const at::Tensor x = at::zeros({1, 8, 2, 2}).contiguous(at::MemoryFormat::ChannelsLast).to(testing::test_device());
  EXPECT_THROW(resize_concat({x, x.narrow(1, 0, 0)}, {3, 3}, false), Error);
  EXPECT_THROW(resize_concat({x, x.expand({2, 8, 2, 2})}, {3, 3}, false), Error);
}

TEST(ResizeConcat, GivesGradientsOnlyWhereTheyAreWanted) {
  const Case& c = kCases[1];
  auto xs = tensors(c, at::kFloat, true);
  xs[0] = xs[0].detach();
  resize_concat(xs, c.size, false).sum().backward();
  EXPECT_FALSE(xs[0].grad().defined());
  EXPECT_TRUE(xs[1].grad().equal(at::ones_like(xs[1])));
}

}  // namespace
}  // namespace tessera
