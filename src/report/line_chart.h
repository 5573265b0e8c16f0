#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/image.h"
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

// What charts are drawn on, y downwards.
class ChartCanvas {
 public:
  enum class Letters { kTitle, kQuiet };
  enum class Anchor { kStart, kMiddle, kEnd };
  // Pens: the grid, a wish (dashed), and from 1 on those of curves.
  static constexpr int kGrid = -1, kWish = 0, kCurves = 6;

  virtual ~ChartCanvas() = default;
  virtual void line(const std::vector<std::pair<double, double>>& points, int pen) = 0;
  virtual void mark(double x, double y, int pen, const std::string& hint) = 0;
  virtual void text(double x, double y, const std::string& words, Letters letters, Anchor anchor) = 0;  // y: of its base
};

// Of charts side by side.
Size charts_size(const std::vector<LineChart>& charts, int columns);
void draw_charts(const std::vector<LineChart>& charts, int columns, ChartCanvas& canvas);

}  // namespace tessera
