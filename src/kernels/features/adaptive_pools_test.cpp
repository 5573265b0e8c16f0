#include "kernels/features/adaptive_pools.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include "core/error.h"
#include "kernels/features/pool_plan.h"
#include "support/derivative.h"
#include "support/test_device.h"

namespace tessera {
namespace {

using testing::largest_difference;

struct Case {
  std::vector<int64_t> shape, bins;
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << at::IntArrayRef(c.shape) << " to grids " << at::IntArrayRef(c.bins);
}

// Bins that overlap and that do not, more bins than pixels, odd and single channels, one pixel, sizes whose cells are cut.
const std::vector<Case> kCases = {
    {{2, 16, 12, 12}, {1, 2, 3, 6}}, {{1, 24, 13, 17}, {1, 2, 3, 6}}, {{2, 8, 5, 31}, {1}},        {{1, 5, 7, 9}, {3, 1}},
    {{1, 1, 20, 20}, {6}},           {{3, 8, 1, 1}, {1, 2}},          {{1, 264, 4, 3}, {2, 3}},    {{1, 8, 300, 2}, {1, 6}},
    {{1, 19, 10, 10}, {7}},          {{1, 8, 5, 5}, {1, 6, 8}},       {{1, 4, 30, 29}, {5, 4, 3}}, {{1, 8, 20, 6}, {17, 1}},
};

at::Tensor features(at::IntArrayRef shape, at::ScalarType type, bool channels_last, uint64_t seed = 1) {
  at::manual_seed(seed);
  return at::randn(shape, at::kDouble)
      .to(testing::test_device(), type)
      .contiguous(channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous);
}

// The gradient of the sum over all grids of (average * grad_out).
at::Tensor gradient_of(const at::Tensor& x, const std::vector<at::Tensor>& pools) {
  at::manual_seed(3);
  at::Tensor sum = at::zeros({}, x.options().dtype(at::kDouble));
  for (const at::Tensor& pool : pools) {
    sum = sum + (pool.to(at::kDouble) * at::randn(pool.sizes(), at::kDouble).to(x.device())).sum();
  }
  sum.backward();
  return x.grad();
}

void expect_close(at::ScalarType type, double tolerance) {
  for (const Case& c : kCases) {
    for (const bool channels_last : {false, true}) {
      const at::Tensor x = features(c.shape, type, channels_last).requires_grad_();
      const at::Tensor y = x.detach().to(at::kDouble).requires_grad_();
      const std::vector<at::Tensor> ours = adaptive_pools(x, c.bins);
      std::vector<at::Tensor> torchs;
      for (const int64_t b : c.bins) torchs.push_back(at::adaptive_avg_pool2d(y, {b, b}));
      ASSERT_EQ(ours.size(), torchs.size());
      for (size_t i = 0; i < ours.size(); ++i) {
        EXPECT_EQ(ours[i].scalar_type(), type);
        EXPECT_LT(largest_difference(ours[i], torchs[i]), tolerance) << c;
      }
      EXPECT_LT(largest_difference(gradient_of(x, ours), gradient_of(y, torchs)), 2 * tolerance) << c;
    }
  }
}

TEST(AdaptivePools, EqualsTorchInFloat64) {
  expect_close(at::kDouble, 1e-13);
}
TEST(AdaptivePools, EqualsTorchInFloat32) {
  expect_close(at::kFloat, 2e-6);
}
// One rounding of averages up to 4; gradients are sums of several grids' rounded gradients.
TEST(AdaptivePools, EqualsTorchInBFloat16) {
  expect_close(at::kBFloat16, 0.03);
}
TEST(AdaptivePools, TakesHalf) {
  expect_close(at::kHalf, 0.01);
}

TEST(AdaptivePools, TakesSlices) {
  const at::Tensor x = features({2, 40, 9, 10}, at::kDouble, true).narrow(1, 8, 16).narrow(2, 1, 7);
  EXPECT_LT(largest_difference(adaptive_pools(x, {3})[0], at::adaptive_avg_pool2d(x, {3, 3})), 1e-13);
}

TEST(AdaptivePools, SameBitsOnAnyNumberOfThreads) {
  const auto run = [](int threads) {
    const int before = at::get_num_threads();
    at::set_num_threads(threads);
    const at::Tensor x = features({3, 24, 19, 21}, at::kFloat, true).requires_grad_();
    auto pools = adaptive_pools(x, {1, 2, 3, 6});
    pools.push_back(gradient_of(x, pools));
    at::set_num_threads(before);
    return pools;
  };
  const auto one = run(1), three = run(3);
  for (size_t i = 0; i < one.size(); ++i) EXPECT_TRUE(one[i].equal(three[i])) << i;
}

TEST(AdaptivePools, SaysWhatItTakes) {
  EXPECT_THROW(adaptive_pools(features({8, 4, 4}, at::kFloat, false), {1}), Error);
  EXPECT_THROW(adaptive_pools(features({1, 8, 0, 4}, at::kFloat, false), {1}), Error);
}

// 7 pixels in 3 bins: [0, 3), [2, 5), [4, 7); in 2: [0, 4), [3, 7).
TEST(PoolPlan, CutsAnAxisAtTheBordersOfAllBins) {
  const PoolAxis axis = pool_axis(7, std::vector<int64_t>{3, 2});
  const std::vector<int> borders(axis.border, axis.border + axis.cells + 1);
  EXPECT_EQ(borders, (std::vector<int>{0, 2, 3, 4, 5, 7}));
  EXPECT_EQ(axis.bins, 5);
  EXPECT_EQ(axis.begin[1], 1);
  EXPECT_EQ(axis.end[1], 4);
  EXPECT_EQ(axis.pixels(1), 3);
  EXPECT_EQ(axis.pixels(3), 4);
  EXPECT_TRUE(axis.holds(4, 2));
  EXPECT_FALSE(axis.holds(4, 1));
}

TEST(PoolPlan, FitsItsTablesForAnySize) {
  for (int64_t size : {1, 2, 15, 16, 17, 64, 255, 256, 257, 1000, 20000}) {
    for (const std::vector<int64_t>& bins : {std::vector<int64_t>{16}, {1, 2, 3, 6}, {7, 9}, {1}}) {
      const PoolAxis axis = pool_axis(size, bins);
      EXPECT_LE(axis.cells, kMostCells) << size;
      EXPECT_EQ(axis.border[axis.cells], size);
    }
  }
  EXPECT_FALSE(has_pool_plan(std::vector<int64_t>{17}));
  EXPECT_FALSE(has_pool_plan(std::vector<int64_t>{}));
}

}  // namespace
}  // namespace tessera
