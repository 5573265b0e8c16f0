#pragma once
#include <string>
#include <vector>

#include "report/line_chart.h"

namespace tessera {

// Charts side by side as one SVG. Colours are classes: `standalone` puts their style into the picture, a page
// that has it inline gives its own.
std::string svg_charts(const std::vector<LineChart>& charts, bool standalone, int columns = 2);

// The style of those classes with theme.css's variables, for pages.
std::string svg_chart_style();

}  // namespace tessera
