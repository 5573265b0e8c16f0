#pragma once
#include <vector>

#include "core/image.h"
#include "report/line_chart.h"

namespace tessera {

// Charts side by side as an RGB picture, light, twice the size of what svg_charts (report/svg_chart.h) draws: for where SVG is
// not shown, a paper or a chat. Lines and marks have soft edges; letters are those of legends.
Image chart_picture(const std::vector<LineChart>& charts, int columns = 2);

}  // namespace tessera
