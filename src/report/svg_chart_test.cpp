#include "report/svg_chart.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

LineChart speed_up() {
  return {.title = "Speed-up",
          .x_label = "ranks",
          .y_label = "x",
          .log_x = true,
          .lines = {{.label = "ideal", .points = {{1, 1}, {2, 2}, {4, 4}}, .dashed = true},
                    {.label = "<ddp>", .points = {{1, 1, 0.8, 1.2}, {2, 1.9}, {4, 3.5}}}}};
}

// Panels begin at (16, 16); x runs from 58 to 386 of 400 in each, y from 34 to 228 of 290.
TEST(SvgChart, PlacesPointsByTheirAxes) {
  const std::string svg = svg_charts({speed_up()}, true);
  EXPECT_TRUE(has(svg, "M74.0 195.5L238.0 147.0L402.0 50.0")) << svg;  // ideal: y from 0 to 4, evenly spread powers of two
  EXPECT_TRUE(has(svg, "cx=\"402.0\" cy=\"74.2\"")) << svg;
  EXPECT_TRUE(has(svg, "M74.0 205.2L74.0 185.8\" class=\"l c1\"")) << svg;  // the spread
  EXPECT_TRUE(has(svg, ">1<") && has(svg, ">2<") && has(svg, ">4<"));
  EXPECT_TRUE(has(svg, "&lt;ddp&gt;"));
  EXPECT_FALSE(has(svg, "<ddp>"));
}

TEST(SvgChart, LeavesOutWhatIsNotKnown) {
  LineChart chart = speed_up();
  chart.lines[1].points = {{1, kNoValue}, {2, kNoValue}};
  EXPECT_FALSE(has(svg_charts({chart}, true), "nan"));
  chart.lines = {};
  EXPECT_TRUE(has(svg_charts({chart}, true), "no values"));
  chart.lines = {{.label = "one", .points = {{1, 0.5}}}};
  const std::string svg = svg_charts({chart}, true);
  EXPECT_FALSE(has(svg, "nan") || has(svg, "inf")) << svg;
}

TEST(SvgChart, BringsItsColoursOnlyWhereNoPageDoes) {
  EXPECT_TRUE(has(svg_charts({speed_up()}, true), "<style>"));
  EXPECT_FALSE(has(svg_charts({speed_up()}, false), "<style>"));
  EXPECT_TRUE(has(svg_chart_style(), "svg.charts .l.c6{stroke:var(--series-6)}"));
}

TEST(SvgChart, PanelsLieInRows) {
  EXPECT_TRUE(has(svg_charts({speed_up(), speed_up(), speed_up()}, true), "viewBox=\"0 0 848 628\""));
}

}  // namespace
}  // namespace tessera
