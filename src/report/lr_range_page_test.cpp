#include "report/lr_range_page.h"

#include <gtest/gtest.h>

#include <cmath>

namespace tessera {
namespace {

LrRangeFigures figures() {
  LrRangeFigures f{.config = "unet<b>.yaml"};
  for (int i = 0; i <= 40; ++i) {
    f.rates.push_back(std::pow(10.0, -6 + 0.125 * i));
    f.losses.push_back(1 + (i % 2 == 0 ? 0.1 : -0.1) + (i == 40 ? 1000 : 0));
    f.smoothed.push_back(1 - 0.02 * i + (i == 40 ? 100 : 0));
  }
  f.diverged = f.falls = true;
  f.steepest = 1e-3, f.minimum = 3e-2, f.tenth_of_minimum = 3e-3;
  return f;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LrRangePage, ShowsCurveAndSuggestion) {
  const std::string page = render_lr_range_page(figures());
  EXPECT_TRUE(has(page, "<pre>optimizer.lr=0.001</pre>"));
  EXPECT_TRUE(has(page, "steepest: 0.001"));
  EXPECT_TRUE(has(page, ">1e-4<"));
  EXPECT_TRUE(has(page, "then it diverged"));
  EXPECT_TRUE(has(page, "unet&lt;b&gt;.yaml"));
  EXPECT_FALSE(has(page, "nan"));
}

TEST(LrRangePage, ADivergingEndIsCutOff) {
  // The last point is at the upper edge, not far above it.
  const std::string svg = lr_range_svg(figures());
  EXPECT_FALSE(has(svg, ",-"));
}

TEST(LrRangePage, SaysThatNothingFalls) {
  LrRangeFigures f = figures();
  f.falls = false;
  EXPECT_TRUE(has(render_lr_range_page(f), "falls nowhere"));
  EXPECT_FALSE(has(render_lr_range_page({}), "nan"));
}

}  // namespace
}  // namespace tessera
