#include "kernels/loss/windows_argmax.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "kernels/loss/add_windows.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::test_device;

// The windows that hold a pixel, by looking at each.
TEST(WindowAxis, KnowsTheWindowsOverAPixel) {
  for (const auto& [length, size, stride] : {std::array{10, 4, 3},
                                             {11, 4, 3},
                                             {683, 512, 341},
                                             {9, 4, 1},
                                             {8, 8, 5},
                                             {7, 9, 6},
                                             {23, 4, 7},
                                             {12, 5, 5},
                                             {1, 1, 1},
                                             {30, 10, 9}}) {
    const WindowAxis axis(length, size, stride);
    EXPECT_EQ(axis.start(0), 0);
    EXPECT_EQ(axis.start(axis.count - 1) + axis.size, length);
    for (int pixel = 0; pixel < length; ++pixel) {
      const WindowRange range = axis.over(pixel);
      for (int window = 0; window < axis.count; ++window) {
        const bool holds = axis.start(window) <= pixel && pixel < axis.start(window) + axis.size;
        EXPECT_EQ(holds, range.begin <= window && window < range.end) << length << " pixel " << pixel << " window " << window;
      }
    }
  }
}

struct Case {
  int64_t images, classes, low_h, low_w, h, w, height, width, stride_y, stride_x;
};
const std::vector<Case> kCases = {
    {2, 3, 4, 4, 16, 16, 16, 40, 10, 12},   // a row of windows
    {2, 150, 3, 4, 12, 16, 20, 37, 8, 10},  // four over a pixel
    {1, 19, 2, 2, 8, 8, 33, 8, 3, 5},       // a column of windows, three over a pixel
    {1, 70, 5, 7, 5, 7, 9, 19, 3, 4},       // nothing to interpolate
    {1, 7, 9, 11, 5, 4, 8, 30, 3, 3},       // smaller than its logits
    {1, 300, 2, 3, 5, 6, 7, 9, 2, 2},       // more classes than registers
    {3, 2, 1, 1, 4, 4, 10, 11, 4, 6},       // one logit a window, and pixels that no window holds
    {1, 40, 3, 3, 17, 23, 17, 23, 11, 15},  // one window
};

WindowGrid grid_of(const Case& c) {
  return {{c.height, c.h, c.stride_y}, {c.width, c.w, c.stride_x}};
}

at::Tensor logits_of(const Case& c) {
  at::manual_seed(c.classes);
  const WindowGrid grid = grid_of(c);
  return at::randn({c.images * grid.rows.count * grid.columns.count, c.classes, c.low_h, c.low_w}, at::kDouble);
}

at::Tensor weights_of(const Case& c) {
  at::manual_seed(7);
  return at::rand({c.h, c.w}, at::kDouble) + 0.01;
}

// (N, C, H, W), in float64.
at::Tensor plain_sums(const Case& c, const at::Tensor& logits, const at::Tensor& weights) {
  const WindowGrid grid = grid_of(c);
  const at::Tensor sums = at::zeros({c.images, c.classes, c.height, c.width}, at::kDouble);
  const at::Tensor scores = at::upsample_bilinear2d(logits.to(at::kDouble), {c.h, c.w}, false) * weights.to(at::kDouble);
  int64_t window = 0;
  for (int row = 0; row < grid.rows.count; ++row) {
    for (int64_t image = 0; image < c.images; ++image) {
      for (int column = 0; column < grid.columns.count; ++column) {
        sums[image].narrow(1, grid.rows.start(row), c.h).narrow(2, grid.columns.start(column), c.w) += scores[window++];
      }
    }
  }
  return sums;
}

TEST(WindowsArgmax, EqualsPlainOps) {
  for (const Case& c : kCases) {
    const at::Tensor logits = logits_of(c), weights = weights_of(c);
    const at::Tensor expected = plain_sums(c, logits, weights).argmax(1).to(at::kShort);
    for (const auto layout : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
      const at::Tensor found =
          windows_argmax(logits.to(test_device()).contiguous(layout), weights.to(test_device()), grid_of(c));
      EXPECT_TRUE(found.cpu().equal(expected)) << c.classes;
    }
  }
}

// In lower precision the chosen class has, up to rounding, the largest sum.
TEST(WindowsArgmax, LowerPrecisionChoosesALargestSum) {
  for (const Case& c : kCases) {
    for (const auto type : {at::kFloat, at::kBFloat16, at::kHalf}) {
      const at::Tensor logits = logits_of(c).to(type), weights = weights_of(c).to(at::kFloat);
      const at::Tensor sums = plain_sums(c, logits, weights);
      const at::Tensor found = windows_argmax(logits.to(test_device()), weights.to(test_device()), grid_of(c)).cpu();
      const at::Tensor lost = sums.amax(1) - sums.gather(1, found.to(at::kLong).unsqueeze(1)).squeeze(1);
      EXPECT_LT(lost.max().item<double>(), 1e-5) << c.classes << toString(type);
    }
  }
}

// Large images are summed a row of windows at a time.
TEST(WindowsArgmax, IsTheLargestOfAddedWindows) {
  const Case c{2, 150, 4, 4, 16, 16, 16, 40, 10, 12};
  const at::Tensor logits = logits_of(c).to(test_device()), weights = weights_of(c).to(test_device());
  const at::Tensor sums = at::zeros({2, 150, 16, 40}, logits.options()).contiguous(at::MemoryFormat::ChannelsLast);
  add_windows(sums, logits, {0, 0, 0, 1, 1, 1}, {0, 12, 24, 0, 12, 24}, weights);
  EXPECT_TRUE(windows_argmax(logits, weights, grid_of(c)).equal(sums.argmax(1).to(at::kShort)));
}

TEST(WindowsArgmax, OfEqualSumsTheLowestClassWins) {
  const Case c{1, 40, 3, 3, 12, 12, 12, 20, 8, 8};
  at::manual_seed(3);
  const at::Tensor logits = at::randint(0, 3, {2, 40, 3, 3}).to(at::kFloat), weights = at::ones({12, 12});
  const at::Tensor expected = plain_sums(c, logits, weights).argmax(1).to(at::kShort);
  EXPECT_TRUE(windows_argmax(logits.to(test_device()), weights.to(test_device()), grid_of(c)).cpu().equal(expected));
  const at::Tensor none = at::full({2, 40, 3, 3}, std::nan("")).to(test_device());
  EXPECT_EQ(windows_argmax(none, weights.to(test_device()), grid_of(c)).max().item<int64_t>(), 0);
}

TEST(WindowsArgmax, TakesLogitsThatArePartOfOthers) {
  const Case c{1, 6, 4, 5, 8, 10, 8, 15, 5, 5};
  at::manual_seed(4);
  const at::Tensor all = at::randn({2, 12, 6, 7}).to(test_device(), at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
  const at::Tensor logits = all.narrow(1, 1, 6).narrow(2, 1, 4).narrow(3, 2, 5);
  const at::Tensor weights = weights_of(c).to(test_device(), at::kFloat);
  EXPECT_TRUE(windows_argmax(logits, weights, grid_of(c)).equal(windows_argmax(logits.contiguous(), weights, grid_of(c))));
}

TEST(WindowsArgmax, IsTheSameOnAnyNumberOfThreads) {
  const Case c{2, 9, 5, 5, 20, 20, 60, 50, 13, 13};
  const int threads = at::get_num_threads();
  const at::Tensor logits = logits_of(c).to(at::kFloat), weights = weights_of(c).to(at::kFloat);
  const at::Tensor expected = windows_argmax(logits, weights, grid_of(c));
  for (const int count : {1, 2, 5}) {
    at::set_num_threads(count);
    EXPECT_TRUE(windows_argmax(logits, weights, grid_of(c)).equal(expected)) << count;
  }
  at::set_num_threads(threads);
}

TEST(WindowsArgmax, RefusesWhatIsNotTheGridsWindows) {
  const Case c{1, 2, 2, 2, 4, 4, 4, 6, 2, 2};
  const at::Tensor logits = at::zeros({2, 2, 2, 2}).to(test_device()), weights = at::ones({4, 4}).to(test_device());
  EXPECT_THROW(windows_argmax(logits.narrow(0, 0, 1), weights, grid_of(c)), Error);
  EXPECT_THROW(windows_argmax(logits, weights.narrow(0, 0, 3), grid_of(c)), Error);
  EXPECT_THROW(windows_argmax(logits, weights.to(at::kDouble), grid_of(c)), Error);
}

}  // namespace
}  // namespace tessera
