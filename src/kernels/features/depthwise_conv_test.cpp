#include "kernels/features/depthwise_conv.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <gtest/gtest.h>
#include <torch/csrc/autograd/autograd.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

struct Case {
  std::vector<int64_t> shape;
  int64_t dilation;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << at::IntArrayRef(c.shape) << " dilation " << c.dilation;
}

// One and odd channels, several chunks of channels, one pixel, odd sizes, images of several tiles, phases of several tiles,
// tiles of several phases, taps that are mostly or all outside.
const std::vector<Case> kCases = {
    {{1, 1, 1, 1}, 1},    {{3, 8, 1, 1}, 36},   {{1, 1, 5, 7}, 1},     {{3, 7, 5, 6}, 2},    {{1, 8, 9, 11}, 1},
    {{2, 24, 7, 5}, 2},   {{1, 304, 3, 5}, 1},  {{1, 8, 18, 37}, 1},   {{3, 16, 17, 33}, 3}, {{1, 40, 13, 14}, 12},
    {{2, 8, 32, 32}, 12}, {{1, 8, 20, 30}, 24}, {{1, 16, 10, 12}, 36}, {{1, 32, 40, 48}, 9}, {{1, 8, 40, 72}, 2},
};

struct Inputs {
  at::Tensor x, weight, grad_out;  // float64, of numbers that bfloat16 has
};

Inputs make_inputs(const Case& c) {
  at::manual_seed(static_cast<uint64_t>(c.shape[1] + c.dilation));
  const auto made = [](at::IntArrayRef sizes) {
    return at::randn(sizes, at::kDouble).to(at::kBFloat16).to(testing::test_device(), at::kDouble);
  };
  return {made(c.shape), made({c.shape[1], 1, 3, 3}), made(c.shape)};
}

at::Tensor torchs(const at::Tensor& x, const at::Tensor& weight, int64_t dilation) {
  return at::conv2d(x, weight, {}, 1, dilation, dilation, x.size(1));
}

// The result and the gradients of x and weight.
template <class Compute>
std::vector<at::Tensor> with_gradients(const Compute& compute, const at::Tensor& x, const at::Tensor& weight,
                                       const at::Tensor& grad_out, int64_t dilation) {
  const at::Tensor result = compute(x.requires_grad_(), weight.requires_grad_(), dilation);
  const auto gradients = torch::autograd::grad({result}, {x, weight}, {grad_out.to(result.scalar_type())});
  return {result.detach(), gradients[0], gradients[1]};
}

at::Tensor features(const at::Tensor& values, at::ScalarType type, at::MemoryFormat layout) {
  return values.to(type).contiguous(layout).clone();
}

std::vector<at::Tensor> ours(const Inputs& in, int64_t dilation, at::ScalarType type, at::MemoryFormat layout) {
  const at::Tensor weight = in.weight.to(type == at::kDouble ? at::kDouble : at::kFloat).clone();
  return with_gradients(depthwise_conv, features(in.x, type, layout), weight, features(in.grad_out, type, layout), dilation);
}

// Relative to the largest value: the result and x's gradient are rounded to x's type once, the weight's gradient never.
void expect_near(const std::vector<at::Tensor>& got, const std::vector<at::Tensor>& expected, double tolerance,
                 double weight_tolerance) {
  for (size_t i = 0; i < 3; ++i) {
    ASSERT_EQ(got[i].sizes(), expected[i].sizes());
    const double size = std::max(expected[i].abs().max().item<double>(), 1.0);
    EXPECT_LE((got[i].to(at::kDouble) - expected[i]).abs().max().item<double>(), (i < 2 ? tolerance : weight_tolerance) * size)
        << "tensor " << i;
  }
}

void expect_equal(at::ScalarType type, double tolerance, double weight_tolerance) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c);
    const Inputs in = make_inputs(c);
    const auto expected = with_gradients(torchs, in.x.clone(), in.weight.clone(), in.grad_out, c.dilation);
    const auto got = ours(in, c.dilation, type, at::MemoryFormat::ChannelsLast);
    expect_near(got, expected, tolerance, weight_tolerance);
    EXPECT_EQ(got[0].scalar_type(), type);
    EXPECT_TRUE(got[0].is_contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_EQ(got[2].scalar_type(), type == at::kDouble ? at::kDouble : at::kFloat);
  }
}

TEST(DepthwiseConv, EqualsTorchInFloat64) {
  expect_equal(at::kDouble, 1e-13, 1e-13);
}
TEST(DepthwiseConv, EqualsTorchInFloat32) {
  expect_equal(at::kFloat, 1e-6, 1e-5);
}
TEST(DepthwiseConv, EqualsTorchInBFloat16) {
  expect_equal(at::kBFloat16, 4e-3, 1e-5);  // rounded once, to 8 bits: 2^-8
}
TEST(DepthwiseConv, EqualsTorchInHalf) {
  expect_equal(at::kHalf, 5e-4, 1e-5);
}

TEST(DepthwiseConv, OtherLayoutsGiveTheSameAndComeBackAsTheyWere) {
  const Case c{{2, 16, 6, 9}, 2};
  const Inputs in = make_inputs(c);
  const auto expected = ours(in, c.dilation, at::kBFloat16, at::MemoryFormat::ChannelsLast);
  const auto planes = ours(in, c.dilation, at::kBFloat16, at::MemoryFormat::Contiguous);
  EXPECT_TRUE(planes[0].is_contiguous());
  EXPECT_TRUE(planes[1].is_contiguous());

  // Every second channel and column of a larger tensor, a weight and a gradient with strides of their own.
  const at::Tensor x = at::zeros({2, 32, 6, 18}, in.x.options().dtype(at::kBFloat16)).slice(1, 0, 32, 2).slice(3, 1, 18, 2);
  x.copy_(in.x);
  const at::Tensor weight = in.weight.to(at::kFloat).transpose(2, 3).contiguous().transpose(2, 3);
  const at::Tensor grad_out = in.grad_out.to(at::kBFloat16).permute({3, 2, 0, 1}).contiguous().permute({2, 3, 1, 0});
  const auto strided = with_gradients(depthwise_conv, x, weight, grad_out, c.dilation);
  for (size_t i = 0; i < 3; ++i) {
    // The kernels' bits are the same, libtorch's on a CPU depend on the layout.
    EXPECT_TRUE(at::allclose(planes[i], expected[i], 1e-2, 1e-2)) << i;
    EXPECT_TRUE(at::allclose(strided[i], expected[i], 1e-2, 1e-2)) << i;
  }
}

TEST(DepthwiseConv, AddressesThatVectorsCannotUse) {
  const Case c{{1, 8, 5, 6}, 1};
  const Inputs in = make_inputs(c);
  const auto expected = with_gradients(torchs, in.x.clone(), in.weight.clone(), in.grad_out, c.dilation);
  const auto shifted = [](const at::Tensor& values, at::ScalarType type) {
    const at::Tensor room = at::zeros({values.numel() + 1}, values.options().dtype(type));
    const at::Tensor view =
        room.narrow(0, 1, values.numel()).view({values.size(0), values.size(2), values.size(3), values.size(1)});
    return view.permute({0, 3, 1, 2}).copy_(values);
  };
  const at::Tensor weight = at::zeros({in.weight.numel() + 1}, in.weight.options().dtype(at::kFloat)).narrow(0, 1, 72);
  const auto got = with_gradients(depthwise_conv, shifted(in.x, at::kFloat), weight.view_as(in.weight).copy_(in.weight),
                                  shifted(in.grad_out, at::kFloat), c.dilation);
  expect_near(got, expected, 1e-6, 1e-5);
}

TEST(DepthwiseConv, SameBitsTwice) {
  const Case c{{3, 40, 17, 19}, 2};
  const Inputs in = make_inputs(c);
  const auto once = ours(in, c.dilation, at::kBFloat16, at::MemoryFormat::ChannelsLast);
  const auto again = ours(in, c.dilation, at::kBFloat16, at::MemoryFormat::ChannelsLast);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(at::equal(once[i], again[i])) << i;
}

TEST(DepthwiseConv, AutocastChoosesTheTypeOfFeaturesAndLeavesTheWeight) {
  const Case c{{1, 8, 4, 5}, 1};
  const Inputs in = make_inputs(c);
  const auto device = testing::test_device().type();
  const auto expected = with_gradients(torchs, in.x.clone(), in.weight.clone(), in.grad_out, c.dilation);
  at::autocast::set_autocast_enabled(device, true);
  at::autocast::set_autocast_dtype(device, at::kBFloat16);
  const auto got = with_gradients(depthwise_conv, in.x.to(at::kFloat), in.weight.to(at::kFloat), in.grad_out, c.dilation);
  at::autocast::set_autocast_enabled(device, false);
  EXPECT_EQ(got[0].scalar_type(), at::kBFloat16);
  EXPECT_EQ(got[1].scalar_type(), at::kFloat);
  EXPECT_EQ(got[2].scalar_type(), at::kFloat);
  expect_near(got, expected, 4e-3, 1e-5);
}

TEST(DepthwiseConv, NoImagesGiveNoResultAndNoGradient) {
  const auto options = at::TensorOptions(testing::test_device()).dtype(at::kFloat);
  const at::Tensor weight = at::ones({8, 1, 3, 3}, options).requires_grad_();
  const at::Tensor result = depthwise_conv(at::zeros({0, 8, 4, 4}, options), weight, 1);
  EXPECT_EQ(result.sizes(), at::IntArrayRef({0, 8, 4, 4}));
  result.sum().backward();
  EXPECT_EQ(weight.grad().abs().max().item<float>(), 0);
}

TEST(DepthwiseConv, WrongShapesAreRefused) {
  EXPECT_THROW(depthwise_conv(at::zeros({1, 4, 5, 5}), at::zeros({3, 1, 3, 3}), 1), Error);
  EXPECT_THROW(depthwise_conv(at::zeros({1, 4, 5, 5}), at::zeros({4, 1, 5, 5}), 1), Error);
  EXPECT_THROW(depthwise_conv(at::zeros({4, 5, 5}), at::zeros({4, 1, 3, 3}), 1), Error);
  EXPECT_THROW(depthwise_conv(at::zeros({1, 4, 5, 5}), at::zeros({4, 1, 3, 3}), 0), Error);
}

}  // namespace
}  // namespace tessera
