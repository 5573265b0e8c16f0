#include "infer/windows/window_passes.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Three rows of windows at 0, 4 and 6, two columns at 0 and 4, each 4 x 4.
const WindowGrid kGrid{{10, 4, 4}, {8, 4, 4}};

std::vector<WindowPass> all_passes(const std::vector<WindowView>& views, int64_t batch) {
  std::vector<WindowPass> passes;
  WindowPasses source(views, batch);
  while (const auto pass = source.next()) passes.push_back(*pass);
  return passes;
}

TEST(WindowPasses, GoRowByRowAndInARowImageByImage) {
  const WindowView view{2, kGrid, whole_part(kGrid.rows)};
  const auto passes = all_passes({view}, 5);
  ASSERT_EQ(passes.size(), 3U);  // of 12 windows
  EXPECT_EQ(passes[2].windows.size(), 2U);
  const WindowPlace& fourth = passes[0].windows[3];  // the last of the first row
  EXPECT_EQ(fourth.image, 1);
  EXPECT_EQ(fourth.y, 0);
  EXPECT_EQ(fourth.x, 4);
  const WindowPlace& last = passes[2].windows[1];
  EXPECT_EQ(last.image, 1);
  EXPECT_EQ(last.y, 6);
  EXPECT_EQ(last.x, 4);
  ASSERT_EQ(passes[1].wanted.size(), 1U);
  EXPECT_EQ(passes[1].wanted[0].first, 5);
  EXPECT_EQ(passes[1].wanted[0].begin, 0);
  EXPECT_EQ(passes[1].wanted[0].count, 5);
}

TEST(WindowPasses, AreSharedByTheViewsAtTheirBorders) {
  const WindowView view{1, kGrid, whole_part(kGrid.rows)};  // 6 windows
  const auto passes = all_passes({view, view}, 4);
  ASSERT_EQ(passes.size(), 3U);
  ASSERT_EQ(passes[1].wanted.size(), 2U);
  EXPECT_EQ(passes[1].wanted[0].view, 0U);
  EXPECT_EQ(passes[1].wanted[0].first, 4);
  EXPECT_EQ(passes[1].wanted[1].view, 1U);
  EXPECT_EQ(passes[1].wanted[1].first, 0);
  EXPECT_EQ(passes[1].wanted[1].begin, 2);
  EXPECT_EQ(passes[1].windows[2].view, 1U);
}

// What another rank computes alone is left out; a pass that is needed holds what one rank would put into it.
TEST(WindowPasses, HoldTheSameWindowsWhateverIsWanted) {
  const WindowView lowest{1, kGrid, {.first = 2, .end = 3, .y = 8, .height = 2}};
  const auto passes = all_passes({lowest}, 3);
  ASSERT_EQ(passes.size(), 1U);  // windows 3, 4, 5
  EXPECT_EQ(passes[0].windows.size(), 3U);
  EXPECT_EQ(passes[0].windows[0].y, 4);
  ASSERT_EQ(passes[0].wanted.size(), 1U);
  EXPECT_EQ(passes[0].wanted[0].first, 4);
  EXPECT_EQ(passes[0].wanted[0].begin, 1);
  EXPECT_EQ(passes[0].wanted[0].count, 2);
  EXPECT_TRUE(all_passes({{1, kGrid, {}}}, 3).empty());
}

}  // namespace
}  // namespace tessera
