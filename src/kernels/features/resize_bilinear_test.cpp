#include "kernels/features/resize_bilinear.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::Derivative;
using testing::differentiate;
using testing::largest_difference;
using testing::test_device;

struct Shape {
  int64_t n, channels, h, w, out_h, out_w;
};
std::ostream& operator<<(std::ostream& out, const Shape& s) {
  return out << s.n << " x " << s.channels << " x " << s.h << " x " << s.w << " -> " << s.out_h << " x " << s.out_w;
}

// Ratios from 0.3 to 64, the same and different ones by axis; one channel, odd numbers of them, several vectors; one pixel.
const std::vector<Shape> kShapes = {
    {2, 8, 5, 7, 10, 14},  {1, 16, 4, 6, 16, 24}, {2, 1, 6, 5, 12, 9},  {1, 19, 7, 5, 17, 31},  {1, 24, 2, 3, 32, 48},
    {3, 8, 1, 1, 13, 9},   {1, 32, 3, 3, 64, 40}, {2, 8, 20, 17, 6, 5}, {1, 7, 13, 11, 4, 33},  {1, 40, 6, 6, 6, 6},
    {1, 264, 3, 2, 7, 4},  {2, 4, 9, 9, 9, 20},   {1, 8, 1, 6, 1, 12},  {1, 3, 12, 10, 1, 1},   {1, 8, 2, 1, 5, 700},
    {1, 16, 30, 30, 9, 9}, {2, 2, 4, 4, 40, 40},  {1, 8, 5, 2, 5, 300}, {1, 1, 1, 1, 300, 300}, {1, 8, 12, 4, 3, 64},
};

at::Tensor features(const std::vector<int64_t>& shape, at::ScalarType type, bool channels_last, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble)
      .to(test_device(), type)
      .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

Derivative ours(const Shape& s, const at::Tensor& x, const at::Tensor& grad_out, bool align_corners) {
  return differentiate(
      x,
      [&](const at::Tensor& y) {
        return resize_bilinear(y, {s.out_h, s.out_w}, align_corners);
      },
      grad_out);
}
Derivative torchs(const Shape& s, const at::Tensor& x, const at::Tensor& grad_out, bool align_corners) {
  return differentiate(
      x.to(at::kDouble),
      [&](const at::Tensor& y) {
        return at::upsample_bilinear2d(y, {s.out_h, s.out_w}, align_corners);
      },
      grad_out.to(at::kDouble));
}

void expect_close(at::ScalarType type, double forward, double backward) {
  for (const Shape& s : kShapes) {
    for (const bool align_corners : {false, true}) {
      for (const bool channels_last : {false, true}) {
        const at::Tensor x = features({s.n, s.channels, s.h, s.w}, type, channels_last);
        const at::Tensor grad_out = features({s.n, s.channels, s.out_h, s.out_w}, type, channels_last, 2);
        const Derivative a = ours(s, x, grad_out, align_corners), b = torchs(s, x, grad_out, align_corners);
        EXPECT_EQ(a.value.scalar_type(), type);
        EXPECT_EQ(a.gradient.scalar_type(), type);
        if (channels_last && s.h > 1 && s.w > 1 && s.out_h > 1 && s.channels > 1) {
          EXPECT_TRUE(a.value.is_contiguous(at::MemoryFormat::ChannelsLast)) << s;
        }
        // Sums grow with what they gather; bfloat16's last digit with the value.
        EXPECT_LT(largest_difference(a.value, b.value), forward * (1 + b.value.abs().max().item<double>()))
            << s << align_corners;
        EXPECT_LT(largest_difference(a.gradient, b.gradient), backward * (1 + b.gradient.abs().max().item<double>()))
            << s << align_corners;
      }
    }
  }
}

TEST(ResizeBilinear, EqualsTorchInFloat64) {
  expect_close(at::kDouble, 1e-13, 1e-12);
}
// Planes on a CPU are libtorch's own work, with positions in float and sums one after another: 90,000 of them here.
TEST(ResizeBilinear, EqualsTorchInFloat32) {
  expect_close(at::kFloat, 1e-5, 5e-5);
}
// Half a unit of eight bits.
TEST(ResizeBilinear, RoundsBFloat16Once) {
  expect_close(at::kBFloat16, 1.0 / 256, 1.0 / 256);
}
TEST(ResizeBilinear, TakesHalf) {
  expect_close(at::kHalf, 1e-3, 2e-3);
}

TEST(ResizeBilinear, SameBitsOnAnyNumberOfThreads) {
  const Shape s{3, 24, 9, 7, 33, 31};
  const at::Tensor x = features({s.n, s.channels, s.h, s.w}, at::kFloat, true);
  const at::Tensor grad_out = features({s.n, s.channels, s.out_h, s.out_w}, at::kFloat, true, 2);
  const int before = at::get_num_threads();
  const Derivative one = ours(s, x, grad_out, false);
  at::set_num_threads(3);
  const Derivative three = ours(s, x, grad_out, false);
  at::set_num_threads(before);
  EXPECT_TRUE(one.value.equal(three.value));
  EXPECT_TRUE(one.gradient.equal(three.gradient));
}

// Slices of channels, rows and columns, of features and of gradients.
TEST(ResizeBilinear, TakesAnyStrides) {
  const Shape s{2, 16, 5, 6, 12, 13};
  for (const bool channels_last : {false, true}) {
    for (const int64_t from : {int64_t{8}, int64_t{3}}) {  // on the border of a vector, and not
      const at::Tensor x = features({2, 32, 7, 9}, at::kDouble, channels_last)
                               .narrow(1, from, s.channels)
                               .narrow(2, 1, s.h)
                               .slice(3, 0, 2 * s.w, 2)
                               .narrow(3, 0, 5);
      const at::Tensor grad_out = features({2, 40, 12, 13}, at::kDouble, channels_last, 2).narrow(1, from, s.channels);
      const Derivative a = ours(s, x, grad_out, false), b = torchs(s, x, grad_out, false);
      EXPECT_LT(largest_difference(a.value, b.value), 1e-12);
      EXPECT_LT(largest_difference(a.gradient, b.gradient), 1e-10);
    }
  }
}

// A gradient sums to what came in: the weights of an output's inputs add up to 1.
TEST(ResizeBilinear, GradientKeepsTheSum) {
  for (const Shape& s : kShapes) {
    const at::Tensor x = features({s.n, s.channels, s.h, s.w}, at::kDouble, true);
    const at::Tensor grad_out = at::ones({s.n, s.channels, s.out_h, s.out_w}, x.options());
    EXPECT_NEAR(ours(s, x, grad_out, false).gradient.sum().item<double>(), static_cast<double>(grad_out.numel()), 1e-7) << s;
  }
}

TEST(ResizeBilinear, SaysWhatItTakes) {
  const at::Tensor x = features({1, 8, 4, 4}, at::kFloat, true);
  EXPECT_THROW(resize_bilinear(x[0], {2, 2}, false), Error);
  EXPECT_THROW(resize_bilinear(x, {0, 2}, false), Error);
  EXPECT_THROW(resize_bilinear(x.to(at::kLong), {2, 2}, false), Error);
  EXPECT_THROW(resize_concat({}, {2, 2}, false), Error);
  EXPECT_THROW(resize_concat({x, features({2, 8, 4, 4}, at::kFloat, true)}, {2, 2}, false), Error);
}

}  // namespace
}  // namespace tessera
