#include "data/batch/mix_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <tuple>

namespace tessera {
namespace {

const MixOptions kBoth{{.alpha = 0.4, .probability = 0.5}, {.alpha = 1, .probability = 0.3}};

std::vector<int64_t> stretch(int64_t begin, int64_t end) {
  std::vector<int64_t> positions(static_cast<size_t>(end - begin));
  std::iota(positions.begin(), positions.end(), begin);
  return positions;
}

// What happens to sample i, its partner named by position.
auto of_sample(const MixPlan& plan, size_t i) {
  const SampleMix& m = plan.mixes[i];
  return std::tuple(plan.positions[i], plan.positions[static_cast<size_t>(m.partner)], m.share, m.top, m.left, m.bottom,
                    m.right);
}

TEST(MixPlan, IsTheSameForEverySplitOfTheBatch) {
  for (const int64_t batch : {2, 7, 8}) {
    for (int64_t step = 0; step < 20; ++step) {
      const MixPlan whole = plan_mixes(kBoth, 3, step, stretch(0, batch), batch);
      EXPECT_EQ(whole.positions, stretch(0, batch));
      for (int64_t cut = 1; cut < batch; ++cut) {
        for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{0, cut}, {cut, batch}}) {
          const MixPlan part = plan_mixes(kBoth, 3, step, stretch(begin, end), batch);
          ASSERT_EQ(part.mixes.size(), static_cast<size_t>(end - begin));
          EXPECT_LE(part.positions.size(), part.mixes.size() + 1);
          for (size_t i = 0; i < part.mixes.size(); ++i)
            EXPECT_EQ(of_sample(part, i), of_sample(whole, i + static_cast<size_t>(begin)));
        }
      }
    }
  }
}

TEST(MixPlan, PartnersAreNeighbours) {
  const MixOptions always{{.alpha = 1}, {}};
  const MixPlan plan = plan_mixes(always, 1, 0, stretch(0, 5), 5);
  std::vector<int64_t> partners;
  for (const SampleMix& mix : plan.mixes) partners.push_back(mix.partner);
  EXPECT_EQ(partners, (std::vector<int64_t>{1, 0, 3, 2, 3}));
  EXPECT_EQ(plan_mixes(always, 1, 0, {4, 1}, 5).positions, (std::vector<int64_t>{4, 1, 3, 0}));
}

TEST(MixPlan, WithoutMixingThereIsNoPlan) {
  const MixPlan plan = plan_mixes({{.alpha = 0}, {.alpha = 1, .probability = 0}}, 1, 0, stretch(2, 5), 8);
  EXPECT_EQ(plan.positions, stretch(2, 5));
  EXPECT_TRUE(plan.mixes.empty());
}

TEST(MixPlan, ShareIsTheLargerPartOfABetaNumber) {
  constexpr int kDraws = 20000;
  const MixOptions always{{.alpha = 1}, {}};
  double sum = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const SampleMix mix = draw_mix(always, Rng(1, Stream::kMix, i));
    ASSERT_GE(mix.share, 0.5);
    ASSERT_LE(mix.share, 1);
    ASSERT_EQ(mix.top, mix.bottom);
    sum += mix.share;
  }
  EXPECT_NEAR(sum / kDraws, 0.75, 0.005);  // alpha 1: uniform in 0.5 .. 1
}

TEST(MixPlan, BoxesLieInTheImageAndHaveTheDrawnArea) {
  constexpr int kDraws = 20000;
  const MixOptions always{{}, {.alpha = 1}};
  double uncut = 0, squares = 0;
  int whole = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const SampleMix mix = draw_mix(always, Rng(1, Stream::kMix, i));
    ASSERT_EQ(mix.share, 1);
    ASSERT_LE(0, mix.top);
    ASSERT_LE(mix.top, mix.bottom);
    ASSERT_LE(mix.bottom, 1);
    ASSERT_LE(0, mix.left);
    ASSERT_LE(mix.left, mix.right);
    ASSERT_LE(mix.right, 1);
    if (mix.top == 0 || mix.left == 0 || mix.bottom == 1 || mix.right == 1) continue;
    ++whole;  // not cut off by an edge: a square of the image
    uncut += mix.bottom - mix.top;
    squares += std::abs((mix.bottom - mix.top) - (mix.right - mix.left));
  }
  EXPECT_LT(squares / whole, 1e-12);
  // The side is s with density 2 s, not cut off with probability (1 - s)^2: mean of s is (1/30) / (1/12), of boxes 1 in 6.
  EXPECT_NEAR(static_cast<double>(whole) / kDraws, 1.0 / 6, 0.01);
  EXPECT_NEAR(uncut / whole, 0.4, 0.01);
}

TEST(MixPlan, EachKindHasItsProbability) {
  constexpr int kDraws = 20000;
  int blended = 0, boxed = 0;
  for (uint64_t i = 0; i < kDraws; ++i) {
    const SampleMix mix = draw_mix(kBoth, Rng(2, Stream::kMix, 7, i));
    blended += mix.share < 1 ? 1 : 0;
    boxed += mix.top < mix.bottom ? 1 : 0;
  }
  EXPECT_NEAR(static_cast<double>(blended) / kDraws, 0.5, 0.02);
  EXPECT_NEAR(static_cast<double>(boxed) / kDraws, 0.3, 0.02);
}

}  // namespace
}  // namespace tessera
