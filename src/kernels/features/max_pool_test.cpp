#include "kernels/features/max_pool.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <limits>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::largest_difference;
using Shape = std::vector<int64_t>;

// The windows of U-Net, of ResNet's stem and of the transformers' pyramid; overlapping, padded and spread ones.
const std::vector<PoolWindow> kWindows = {{2, 2, 0, false}, {3, 2, 1, false}, {2, 2, 0, true}, {3, 1, 1, false},
                                          {3, 2, 0, true},  {5, 3, 2, true},  {2, 3, 0, false}};
const std::vector<Shape> kShapes = {{2, 8, 6, 8}, {1, 16, 7, 9}, {2, 5, 8, 5}, {1, 1, 6, 6}, {1, 264, 5, 5}, {3, 72, 5, 11}};

at::Tensor features(const Shape& shape, at::ScalarType type, bool channels_last) {
  at::manual_seed(static_cast<uint64_t>(shape[1]));
  // Few different values, so that windows have several equal maxima.
  return at::randint(-6, 6, shape, at::kDouble)
      .to(testing::test_device(), type)
      .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

at::Tensor torchs(const at::Tensor& x, const PoolWindow& w) {
  return at::max_pool2d(x, w.kernel, w.stride, w.padding, 1, w.ceil_mode);
}

void expect_equal(at::ScalarType type, double gradient_tolerance) {
  for (const PoolWindow& w : kWindows) {
    for (const Shape& shape : kShapes) {
      for (const bool channels_last : {false, true}) {
        const at::Tensor x = features(shape, type, channels_last).requires_grad_();
        const at::Tensor y = x.detach().to(at::kDouble).requires_grad_();
        const at::Tensor ours = max_pool(x, w), theirs = torchs(y, w);
        ASSERT_EQ(ours.sizes(), theirs.sizes());
        EXPECT_EQ(ours.scalar_type(), type);
        EXPECT_EQ(largest_difference(ours, theirs), 0) << at::IntArrayRef(shape) << w.kernel << w.stride;
        EXPECT_EQ(largest_difference(max_pool(x.detach(), w), theirs), 0);
        const at::Tensor grad_out = at::randint(-8, 8, theirs.sizes(), at::kDouble).to(x.device());
        ours.backward(grad_out.to(type));
        theirs.backward(grad_out);
        EXPECT_LE(largest_difference(x.grad(), y.grad()), gradient_tolerance) << at::IntArrayRef(shape) << w.kernel << w.stride;
      }
    }
  }
}

// Sums of a few small integers are exact in every type.
TEST(MaxPool, EqualsTorchInFloat64) {
  expect_equal(at::kDouble, 0);
}
TEST(MaxPool, EqualsTorchInFloat32) {
  expect_equal(at::kFloat, 0);
}
TEST(MaxPool, EqualsTorchInBFloat16) {
  expect_equal(at::kBFloat16, 0);
}
TEST(MaxPool, TakesHalf) {
  expect_equal(at::kHalf, 0);
}

TEST(MaxPool, NanAndInfinityAsTorch) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();
  const at::Tensor x = features({1, 8, 6, 6}, at::kFloat, true);
  x.select(2, 1).fill_(-inf);
  x.select(2, 0).fill_(-inf);
  x.select(3, 4).fill_(nan);
  for (const PoolWindow& w : kWindows) {
    // As torch on a CPU: on a GPU it gives gradients of windows of -inf to other pixels.
    const at::Tensor a = x.detach().requires_grad_(), b = x.detach().cpu().clone().requires_grad_();
    const at::Tensor ours = max_pool(a, w), theirs = torchs(b, w);
    EXPECT_TRUE(at::allclose(ours.cpu(), theirs, 0, 0, /*equal_nan=*/true));
    ours.backward(at::ones_like(ours));
    theirs.backward(at::ones_like(theirs));
    EXPECT_TRUE(a.grad().cpu().equal(b.grad())) << w.kernel << w.stride;
  }
}

TEST(MaxPool, TakesSlices) {
  const at::Tensor x = features({2, 40, 9, 10}, at::kFloat, true).narrow(1, 8, 16).narrow(2, 1, 7);
  EXPECT_TRUE(max_pool(x, {3, 2, 1}).equal(torchs(x, {3, 2, 1})));
}

// Channel c of four has its maximum at place c of the one window.
TEST(MaxPool, KeepsAByteForThePlaceInTheWindow) {
  const at::Tensor x =
      at::eye(4, at::kFloat).view({1, 4, 2, 2}).to(testing::test_device()).contiguous(at::MemoryFormat::ChannelsLast);
  const auto op = find_op<std::tuple<at::Tensor, at::Tensor>(const at::Tensor&, at::IntArrayRef, at::IntArrayRef, bool)>(
      "tessera::max_pool");
  const auto [result, positions] = op.call(x, {2, 2, 0}, {1, 1}, true);
  EXPECT_TRUE(result.flatten().cpu().equal(at::ones({4})));
  EXPECT_TRUE(positions.flatten().cpu().equal(at::arange(4, at::kByte)));
}

// What is used beside the maxima gets the sum of both gradients, whichever of them there is.
TEST(MaxPool, KeptFeaturesGiveTheirGradientToo) {
  for (const auto type : {at::kDouble, at::kBFloat16}) {
    const at::Tensor a = features({2, 16, 7, 10}, type, true).requires_grad_(), b = a.detach().clone().requires_grad_();
    const auto grad_kept = features({2, 24, 7, 10}, type, true).narrow(1, 8, 16);  // a slice, as a concatenation gives it
    const auto [most, kept] = max_pool_and_keep(a, {2, 2, 0});
    EXPECT_TRUE(kept.equal(a));
    EXPECT_TRUE(most.equal(torchs(b, {2, 2, 0})));
    (most.square().sum() + (kept * grad_kept).sum()).backward();
    (torchs(b, {2, 2, 0}).square().sum() + (b * grad_kept).sum()).backward();
    EXPECT_TRUE(torch::allclose(a.grad(), b.grad(), type == at::kDouble ? 1e-12 : 1e-2, 1e-12));
    a.mutable_grad().reset();
    (max_pool_and_keep(a, {2, 2, 0}).second * grad_kept).sum().backward();
    EXPECT_TRUE(a.grad().equal(grad_kept));
    a.mutable_grad().reset();
    max_pool_and_keep(a, {2, 2, 0}).first.sum().backward();
    EXPECT_EQ(a.grad().sum().item<double>(), static_cast<double>(most.numel()));
  }
}

// Rounded up, a window may be larger than what it stands on.
TEST(MaxPool, OnePixelStays) {
  const at::Tensor x = features({1, 8, 1, 1}, at::kFloat, true);
  EXPECT_TRUE(max_pool(x, {2, 2, 0, true}).equal(x));
}

TEST(MaxPool, SaysWhatDoesNotFit) {
  EXPECT_THROW(max_pool(features({1, 8, 3, 3}, at::kFloat, true), {5, 1, 0}), Error);
  EXPECT_THROW(max_pool(features({1, 8, 3, 3}, at::kFloat, true), {2, 1, 2}), Error);
  EXPECT_THROW(max_pool(features({1, 8, 3, 3}, at::kFloat, true)[0], {2, 1, 0}), Error);
  EXPECT_THROW(max_pool(features({1, 8, 3, 0}, at::kFloat, true), {2, 2, 1}), Error);
}

}  // namespace
}  // namespace tessera
