#include "infer/windows/window_bands.h"

#include <gtest/gtest.h>
#include <torch/types.h>

#include "infer/windows/window_classes.h"

namespace tessera {
namespace {

struct Bands {
  at::Tensor sums, weights;  // of all rows of the part, joined
  std::vector<int64_t> heights;
};

at::Tensor scores_of(int64_t windows, const WindowGrid& grid) {
  torch::manual_seed(3);
  return torch::randn({windows, 3, grid.rows.size, grid.columns.size});
}

// scores: of all windows of the view; `batch` of those that are wanted are added at a time.
Bands bands_of(const WindowView& view, const at::Tensor& scores, const at::Tensor& weights, int64_t batch) {
  WindowBands bands(view, weights);
  WindowPasses passes({view}, batch);
  std::vector<at::Tensor> sums, totals;
  Bands all;
  while (const auto pass = passes.next()) {
    const WantedScores& wanted = pass->wanted.at(0);
    bands.add(wanted.first, scores.narrow(0, wanted.first, wanted.count));
    while (const auto band = bands.next()) {
      EXPECT_EQ(band->y, view.part.y + (all.heights.empty() ? 0 : at::cat(sums, 2).size(2)));
      sums.push_back(band->sums.clone());
      totals.push_back(band->weights.clone());
      all.heights.push_back(band->sums.size(2));
    }
  }
  all.sums = at::cat(sums, 2);
  all.weights = at::cat(totals);
  return all;
}

// The sums of scores, (B, K, h, w), with every window put where it lies.
at::Tensor added_up(const WindowView& view, const at::Tensor& scores, const at::Tensor& weights) {
  const int64_t width = view.grid.columns.last + view.grid.columns.size;
  at::Tensor sums = torch::zeros({view.images, scores.size(1), view.part.height, width});
  for (int64_t i = 0; i < scores.size(0); ++i) {
    sums[view.image_of(i)]
        .narrow(1, view.top_of(i), view.grid.rows.size)
        .narrow(2, view.left_of(i), view.grid.columns.size)
        .add_(scores[i] * weights);
  }
  return sums;
}

TEST(WindowBands, AddUpToAllWindowsInBandsThatNoFurtherWindowReaches) {
  const WindowGrid grid{{11, 4, 3}, {9, 4, 3}};  // rows at 0, 3, 6, 7; columns at 0, 3, 5
  const WindowView view{2, grid, whole_part(grid.rows)};
  const at::Tensor scores = scores_of(24, grid), weights = torch::rand({4, 4}) + 0.1;
  for (const int64_t batch : {1, 5, 6, 24}) {
    const Bands bands = bands_of(view, scores, weights, batch);
    EXPECT_EQ(bands.heights, (std::vector<int64_t>{3, 3, 1, 4})) << batch;
    EXPECT_TRUE(torch::allclose(bands.sums, added_up(view, scores, weights), 1e-5, 1e-5)) << batch;
    const at::Tensor totals = added_up(view, torch::ones({24, 1, 4, 4}), weights)[0][0];
    EXPECT_TRUE(torch::allclose(bands.weights, totals, 1e-5, 1e-5)) << batch;
  }
}

// Each part alone gives the rows that the whole gives, to the bit.
TEST(WindowBands, OfPartsAreThoseOfTheWhole) {
  const WindowGrid grid{{34, 10, 6}, {20, 10, 5}};
  const at::Tensor scores = scores_of(15, grid), weights = torch::rand({10, 10}) + 0.1;
  const Bands whole = bands_of({1, grid, whole_part(grid.rows)}, scores, weights, 4);
  for (const int ranks : {2, 3}) {
    for (const WindowPart& part : deal_windows(grid.rows, ranks)) {
      if (part.empty()) continue;
      const Bands own = bands_of({1, grid, part}, scores, weights, 4);
      EXPECT_TRUE(own.sums.equal(whole.sums.narrow(2, part.y, part.height))) << ranks << " ranks, from " << part.y;
      EXPECT_TRUE(own.weights.equal(whole.weights.narrow(0, part.y, part.height))) << ranks << " ranks, from " << part.y;
    }
  }
}

// Scores of a quarter of the resolution are kept, those of the full one are added up in bands.
TEST(WindowClasses, AreThoseOfTheSumsWhetherScoresAreKeptOrNot) {
  const WindowGrid grid{{40, 16, 8}, {24, 16, 8}};  // 4 rows of 2 windows
  const WindowView view{2, grid, whole_part(grid.rows)};
  const at::Tensor weights = window_weights(grid, WindowWeights::kGaussian);
  for (const int64_t side : {4, 16}) {
    torch::manual_seed(side);
    const at::Tensor scores = torch::randn({16, 3, side, side});
    bool banded = false;
    WindowClasses classes(view, WindowWeights::kGaussian, /*argmax=*/true, [&](const at::Tensor& sums) {
      banded = true;
      return sums.argmax(1).to(at::kShort);
    });
    WindowPasses passes({view}, 5);
    while (const auto pass = passes.next()) {
      for (const WantedScores& wanted : pass->wanted) {
        classes.add(wanted.first, scores.narrow(0, wanted.first, wanted.count));
      }
    }
    const at::Tensor full = at::upsample_bilinear2d(scores, {16, 16}, /*align_corners=*/false);
    const at::Tensor expected = added_up(view, full, weights).argmax(1).to(at::kShort);
    EXPECT_TRUE(classes.result().equal(expected)) << side;
    EXPECT_EQ(banded, side == 16);
  }
  WindowClasses nothing({2, grid, {}}, WindowWeights::kFlat, /*argmax=*/true, {});
  EXPECT_FALSE(nothing.result().defined());
}

}  // namespace
}  // namespace tessera
