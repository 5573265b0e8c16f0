#include "kernels/loss/add_windows.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::test_device;

struct Case {
  int64_t images, classes, low_h, low_w, h, w, width;
  std::vector<int64_t> image, left;
};
const std::vector<Case> kCases = {
    {2, 3, 4, 4, 16, 16, 40, {0, 0, 0, 1, 1, 1}, {0, 12, 24, 0, 12, 24}},
    {3, 150, 3, 2, 12, 8, 11, {0, 0, 1, 1, 2}, {0, 3, 0, 3, 0}},
    {1, 1, 5, 7, 5, 7, 9, {0, 0}, {2, 0}},            // nothing to interpolate
    {2, 16, 3, 5, 17, 31, 31, {1, 0, 1}, {0, 0, 0}},  // an image that comes again
    {1, 7, 9, 11, 5, 4, 30, {0, 0}, {0, 26}},         // smaller than its logits, and nothing between them
    {1, 300, 2, 3, 5, 6, 8, {0, 0, 0}, {0, 1, 2}},
    {1, 2, 1, 1, 3, 3, 80, std::vector<int64_t>(70, 0), {}},
};

std::vector<int64_t> lefts_of(const Case& c) {
  std::vector<int64_t> lefts = c.left;
  while (lefts.size() < c.image.size()) lefts.push_back(static_cast<int64_t>(lefts.size()));
  return lefts;
}

at::Tensor made(at::IntArrayRef size, uint64_t seed) {
  at::manual_seed(seed);
  return at::randn(size, at::kDouble);
}

at::Tensor expected_sum(const Case& c, const at::Tensor& sum, const at::Tensor& logits, const at::Tensor& weights) {
  at::Tensor result = sum.clone();
  const at::Tensor scores = at::upsample_bilinear2d(logits, {c.h, c.w}, false);
  const std::vector<int64_t> lefts = lefts_of(c);
  for (size_t b = 0; b < c.image.size(); ++b) {
    result[c.image[b]].narrow(2, lefts[b], c.w) += scores[static_cast<int64_t>(b)] * weights;
  }
  return result;
}

// Logits of every type and layout are compared with plain operations in float64.
TEST(AddWindows, EqualsPlainOps) {
  for (const Case& c : kCases) {
    const auto windows = static_cast<int64_t>(c.image.size());
    const at::Tensor sum = made({c.images, c.classes, c.h, c.width}, 1), weights = made({c.h, c.w}, 2).abs();
    for (const auto type : {at::kDouble, at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor logits = made({windows, c.classes, c.low_h, c.low_w}, 3).to(type);
      const at::Tensor expected = expected_sum(c, sum, logits.to(at::kDouble), weights);
      const at::ScalarType summed = type == at::kDouble ? at::kDouble : at::kFloat;
      for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
        const at::Tensor result = sum.to(test_device(), summed).contiguous(at::MemoryFormat::ChannelsLast).clone();
        add_windows(result, logits.to(test_device()).contiguous(layout), c.image, lefts_of(c),
                    weights.to(test_device(), summed));
        const double tolerance = type == at::kDouble ? 1e-12 : 2e-5;
        EXPECT_TRUE(at::allclose(result.cpu().to(at::kDouble), expected, tolerance, tolerance)) << c.classes << toString(type);
      }
    }
  }
}

TEST(AddWindows, TakesLogitsThatArePartOfOthers) {
  const at::Tensor all = made({3, 12, 6, 7}, 4).to(test_device(), at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor logits = all.narrow(1, 1, 6).narrow(2, 1, 4).narrow(3, 2, 5);
  const at::Tensor weights = at::rand({8, 10}).to(test_device());
  const auto add = [&](const at::Tensor& x) {
    const at::Tensor sum = at::zeros({2, 6, 8, 15}, weights.options()).contiguous(at::MemoryFormat::ChannelsLast);
    add_windows(sum, x, {0, 0, 1}, {0, 5, 5}, weights);
    return sum;
  };
  EXPECT_TRUE(add(logits).equal(add(logits.contiguous())));
}

// Bit for bit: each sum is added to in the order of windows.
TEST(AddWindows, IsTheSameHoweverWindowsAreDealtOut) {
  const std::vector<int64_t> images{0, 0, 0, 1, 1, 1}, lefts{0, 4, 8, 0, 4, 8};
  const at::Tensor logits = made({6, 10, 3, 3}, 5).to(test_device(), at::kFloat);
  const at::Tensor weights = at::rand({12, 12}).to(test_device());
  const auto add = [&](int64_t batch) {
    const at::Tensor sum = at::zeros({2, 10, 12, 20}, logits.options()).contiguous(at::MemoryFormat::ChannelsLast);
    for (int64_t b = 0; b < 6; b += batch) {
      const auto count = static_cast<size_t>(std::min<int64_t>(batch, 6 - b)), first = static_cast<size_t>(b);
      add_windows(sum, logits.narrow(0, b, static_cast<int64_t>(count)), at::IntArrayRef(images).slice(first, count),
                  at::IntArrayRef(lefts).slice(first, count), weights);
    }
    return sum;
  };
  const at::Tensor expected = add(6);
  for (const int64_t batch : {1, 2, 4}) EXPECT_TRUE(add(batch).equal(expected)) << batch;
}

TEST(AddWindows, RefusesWindowsOutsideOfTheSums) {
  const at::Tensor sum = at::zeros({1, 2, 4, 6}).to(test_device()).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor logits = at::zeros({1, 2, 2, 2}).to(test_device()), weights = at::ones({4, 4}).to(test_device());
  EXPECT_THROW(add_windows(sum, logits, {1}, {0}, weights), Error);
  EXPECT_THROW(add_windows(sum, logits, {0}, {3}, weights), Error);
  EXPECT_THROW(add_windows(sum, logits, {0, 0}, {0, 1}, weights), Error);
  EXPECT_THROW(add_windows(sum, logits, {0}, {0}, weights.to(at::kDouble)), Error);
}

}  // namespace
}  // namespace tessera
