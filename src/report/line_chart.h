#pragma once
#include <string>
#include <vector>

#include "report/run_history.h"

namespace tessera {

struct ChartPoint {
  double x = 0, y = 0;
  double low = kNoValue, high = kNoValue;  // of its spread; NaN: none is drawn
};

struct ChartLine {
  std::string label{};
  std::vector<ChartPoint> points{};  // in the order of x; one whose y is NaN is left out
  bool dashed = false;               // what one would wish for, not what was measured
};

struct LineChart {
  std::string title{}, x_label{}, y_label{};
  bool log_x = false;  // by powers of two
  bool log_y = false;
  bool from_zero = true;  // the y axis begins at 0, where it is not logarithmic
  bool percent = false;   // values are shares 0..1
  std::vector<ChartLine> lines{};
};

// Charts side by side as one SVG. Colours are classes: `standalone` puts their style into the picture, a page
// that has it inline gives its own.
std::string svg_charts(const std::vector<LineChart>& charts, bool standalone, int columns = 2);

// The style of those classes with theme.css's variables, for pages.
std::string svg_chart_style();

}  // namespace tessera
