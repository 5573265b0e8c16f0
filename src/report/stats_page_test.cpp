#include "report/stats_page.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

TEST(StatsPage, ShowsClassesSizesAndValues) {
  SplitFigures split{.split = "train",
                     .usable = 2,
                     .checked = 3,
                     .classes = {"ground", "<i>"},
                     .palette = {{0, 0, 0}, {255, 0, 7}},
                     .pixels = {750, 250},
                     .images = {2, 1},
                     .weights = {0.5, 1.5},
                     .labelled_pixels = 1000,
                     .ignored_pixels = 24,
                     .sizes = {{"16 x 32", 1}, {"8 x 8", 4}},
                     .mean = {0.25},
                     .std = {0.5},
                     .histogram = {{}}};
  split.histogram[0][7] = 9;
  const std::string html = render_stats_page("cells", {split});
  for (const char* text : {"&lt;i&gt;", "25.00 %", "rgb(255,0,7)", "2 usable samples of 3", "loss.class_weights=[0.500,1.500]",
                           "data.normalize.mean=[0.2500] data.normalize.std=[0.5000]", "width:33.33%", "<polyline"})
    EXPECT_NE(html.find(text), std::string::npos) << text;
  EXPECT_LT(html.find("8 x 8"), html.find("16 x 32"));  // the most common first
}

TEST(StatsPage, OfASplitWithoutUsableSamplesThereIsOnlyTheCount) {
  const std::string html = render_stats_page("cells", {{.split = "val", .usable = 0, .checked = 3}});
  EXPECT_NE(html.find("0 usable samples of 3"), std::string::npos);
  EXPECT_EQ(html.find("<table"), std::string::npos);
}

}  // namespace
}  // namespace tessera
