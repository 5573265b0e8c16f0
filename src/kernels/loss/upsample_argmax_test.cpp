#include "kernels/loss/upsample_argmax.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::test_device;

at::Tensor plain_argmax(const at::Tensor& logits, int64_t height, int64_t width, bool align_corners = false) {
  return at::upsample_bilinear2d(logits, {height, width}, align_corners).argmax(1);
}

struct Shape {
  int64_t n, classes, h, w, out_h, out_w;
};
const std::vector<Shape> kShapes = {
    {2, 3, 6, 9, 6, 9},   {2, 150, 3, 5, 12, 20}, {1, 19, 5, 7, 40, 56},  {1, 300, 3, 2, 48, 32}, {2, 5, 7, 5, 17, 31},
    {1, 17, 9, 11, 5, 4}, {1, 1, 3, 3, 7, 7},     {1, 2, 40, 37, 40, 37}, {1, 4, 1, 1, 5, 5},     {1, 31, 4, 9, 64, 18},
    {2, 64, 3, 4, 9, 16}, {1, 200, 2, 3, 7, 9},   {1, 5, 1, 2, 3, 90},    {2, 150, 5, 9, 5, 9},   {1, 700, 4, 5, 4, 5},
};

at::Tensor logits_of(const Shape& s, at::ScalarType type) {
  at::manual_seed(s.classes);
  return at::randn({s.n, s.classes, s.h, s.w}, at::kDouble).to(test_device(), type);
}

// float64 random logits have no ties: what rounding could turn around does not occur.
TEST(UpsampleArgmax, EqualsPlainOps) {
  for (const Shape& s : kShapes) {
    for (const bool align_corners : {false, true}) {
      const at::Tensor logits = logits_of(s, at::kDouble);
      const at::Tensor expected = plain_argmax(logits, s.out_h, s.out_w, align_corners).to(at::kShort);
      EXPECT_TRUE(upsample_argmax(logits, s.out_h, s.out_w, align_corners).equal(expected)) << s.classes;
      const at::Tensor channels_last = logits.contiguous(at::MemoryFormat::ChannelsLast);
      EXPECT_TRUE(upsample_argmax(channels_last, s.out_h, s.out_w, align_corners).equal(expected)) << s.classes;
    }
  }
}

// In lower precision the chosen class has, up to rounding, the largest logit.
TEST(UpsampleArgmax, LowerPrecisionChoosesALargestLogit) {
  for (const Shape& s : kShapes) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor logits = logits_of(s, type).contiguous(at::MemoryFormat::ChannelsLast);
      const at::Tensor full = at::upsample_bilinear2d(logits.to(at::kDouble), {s.out_h, s.out_w}, false);
      const at::Tensor chosen = upsample_argmax(logits, s.out_h, s.out_w).to(at::kLong);
      const at::Tensor lost = full.amax(1) - full.gather(1, chosen.unsqueeze(1)).squeeze(1);
      EXPECT_LT(lost.max().item<double>(), 2e-6) << s.classes << toString(type);
    }
  }
}

// Whole numbers interpolated at ratio 4 are exact, and few enough that ties abound.
TEST(UpsampleArgmax, OfEqualLogitsTheLowestClassWins) {
  for (const int64_t classes : {2, 5, 16, 40}) {
    at::manual_seed(classes);
    const at::Tensor logits = at::randint(0, 3, {2, classes, 6, 6}).to(test_device(), at::kFloat);
    EXPECT_TRUE(upsample_argmax(logits, 24, 24).equal(plain_argmax(logits, 24, 24).to(at::kShort))) << classes;
    EXPECT_TRUE(upsample_argmax(logits, 6, 6).equal(logits.argmax(1).to(at::kShort))) << classes;
  }
  EXPECT_EQ(upsample_argmax(at::zeros({1, 7, 2, 2}).to(test_device()), 9, 9).max().item<int64_t>(), 0);
  at::Tensor signed_zeros = at::zeros({1, 40, 2, 2});
  signed_zeros.slice(1, 0, 20).fill_(-0.0);
  for (const int64_t size : {2, 9}) {
    EXPECT_EQ(upsample_argmax(signed_zeros.to(test_device()), size, size).max().item<int64_t>(), 0) << size;
  }
  EXPECT_EQ(upsample_argmax(at::full({1, 7, 2, 2}, std::nan("")).to(test_device()), 9, 9).max().item<int64_t>(), 0);
}

// A part of other logits: rows or images do not follow one another.
TEST(UpsampleArgmax, TakesLogitsThatArePartOfOthers) {
  const at::Tensor all = logits_of({3, 24, 12, 14, 0, 0}, at::kFloat);
  for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const at::Tensor part = all.contiguous(layout).narrow(0, 1, 2).narrow(1, 2, 20).narrow(2, 1, 9).narrow(3, 3, 10);
    for (const int64_t ratio : {1, 2}) {
      const at::Tensor expected = upsample_argmax(part.contiguous(), 9 * ratio, 10 * ratio);
      EXPECT_TRUE(upsample_argmax(part, 9 * ratio, 10 * ratio).equal(expected)) << ratio;
    }
  }
}

TEST(UpsampleArgmax, RefusesWholeNumbers) {
  const at::Tensor logits = at::zeros({1, 4, 2, 2}, at::kByte).to(test_device());
  EXPECT_THROW(upsample_argmax(logits, 4, 4), Error);
}

TEST(UpsampleArgmax, IsTheSameOnAnyNumberOfThreads) {
  const int threads = at::get_num_threads();
  const at::Tensor logits = at::randn({3, 9, 20, 20});
  const at::Tensor expected = upsample_argmax(logits, 100, 100);
  for (const int count : {1, 2, 5}) {
    at::set_num_threads(count);
    EXPECT_TRUE(upsample_argmax(logits, 100, 100).equal(expected));
  }
  at::set_num_threads(threads);
}

}  // namespace
}  // namespace tessera
