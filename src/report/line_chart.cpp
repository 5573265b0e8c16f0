#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/axis_ticks.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr int kWidth = 400, kHeight = 290, kGap = 16;
constexpr double kLeft = 58, kRight = 14, kTop = 34, kBottom = 62, kRowOfLegend = 15;

struct Range {
  double low = 0, high = 1;
  bool log = false;
  double share(double value) const {
    return log ? (std::log2(value) - std::log2(low)) / (std::log2(high) - std::log2(low)) : (value - low) / (high - low);
  }
};

bool is_drawn(const ChartPoint& point, const LineChart& chart) {
  return std::isfinite(point.x) && std::isfinite(point.y) && (!chart.log_x || point.x > 0) && (!chart.log_y || point.y > 0);
}

Range x_range(const LineChart& chart, std::set<double>& values) {
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      if (is_drawn(point, chart)) values.insert(point.x);
    }
  }
  if (values.empty()) return {};
  Range range{*values.begin(), *values.rbegin(), chart.log_x};
  if (range.low == range.high) range = {range.low * 0.5, range.high * 2, chart.log_x};
  return range;
}

Range y_range(const LineChart& chart, std::vector<double>& ticks) {
  double low = INFINITY, high = -INFINITY;
  for (const ChartLine& line : chart.lines) {
    for (const ChartPoint& point : line.points) {
      if (!is_drawn(point, chart)) continue;
      for (const double value : {point.y, point.low, point.high}) {
        if (!std::isfinite(value) || (chart.log_y && value <= 0)) continue;
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
  }
  if (low > high) return {};
  if (chart.log_y) {
    Range range{std::exp2(std::floor(std::log2(low) - 0.01)), std::exp2(std::ceil(std::log2(high) + 0.01)), true};
    for (double tick = range.low; tick <= range.high * 1.001; tick *= 2) ticks.push_back(tick);
    return range;
  }
  if (chart.from_zero) low = std::min(0.0, low);
  if (high - low < 1e-9 * std::max(1.0, std::abs(high))) {
    const double room = std::max(1e-3, std::abs(high) * 0.05);
    low -= chart.from_zero && low == 0 ? 0 : room;
    high += room;
  }
  const double step = nice_step(high - low);
  Range range{std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step, false};
  for (double tick = range.low; tick <= range.high + step / 2; tick += step)
    ticks.push_back(std::abs(tick) < step / 1e6 ? 0 : tick);
  return range;
}

class Panel {
 public:
  Panel(const LineChart& chart, double x, double y, ChartCanvas& canvas)
      : chart_(chart), x_(x), y_(y), across_(x_range(chart, values_)), up_(y_range(chart, ticks_)), canvas_(canvas) {}

  void draw() const {
    canvas_.text(x_ + 4, y_ + 18, chart_.title, Letters::kTitle, Anchor::kStart);
    if (values_.empty()) return quiet(x_ + kWidth / 2.0, y_ + kHeight / 2.0, "no values", Anchor::kMiddle);
    axes();
    for (size_t i = 0, curves = 0; i < chart_.lines.size(); ++i) line(chart_.lines[i], pen_of(i, curves));
    legend();
  }

 private:
  using Letters = ChartCanvas::Letters;
  using Anchor = ChartCanvas::Anchor;

  double px(double x) const { return x_ + kLeft + across_.share(x) * (kWidth - kLeft - kRight); }
  double py(double y) const { return y_ + kTop + (1 - up_.share(y)) * (kHeight - kTop - kBottom); }
  void quiet(double x, double y, const std::string& words, Anchor anchor) const {
    canvas_.text(x, y, words, Letters::kQuiet, anchor);
  }

  std::string y_text(double tick) const {
    if (chart_.percent) return fmt::format("{:.3g} %", 100 * tick);
    return up_.log || ticks_.size() < 2 ? short_text(tick) : tick_text(tick, ticks_[1] - ticks_[0]);
  }

  int pen_of(size_t i, size_t& curves) const {
    return chart_.lines[i].dashed ? ChartCanvas::kWish : static_cast<int>(curves++ % ChartCanvas::kCurves) + 1;
  }

  void axes() const {
    for (const double tick : ticks_) {
      canvas_.line({{x_ + kLeft, py(tick)}, {x_ + kWidth - kRight, py(tick)}}, ChartCanvas::kGrid);
      quiet(x_ + kLeft - 6, py(tick) + 4, y_text(tick), Anchor::kEnd);
    }
    for (const double value : values_) {
      canvas_.line({{px(value), y_ + kTop}, {px(value), y_ + kHeight - kBottom}}, ChartCanvas::kGrid);
      quiet(px(value), y_ + kHeight - kBottom + 15, short_text(value), Anchor::kMiddle);
    }
    quiet(x_ + (kLeft + kWidth - kRight) / 2, y_ + kHeight - kBottom + 32, chart_.x_label, Anchor::kMiddle);
    quiet(x_ + kWidth - kRight, y_ + 18, chart_.y_label, Anchor::kEnd);
  }

  void line(const ChartLine& line, int pen) const {
    std::vector<std::pair<double, double>> path;
    for (const ChartPoint& point : line.points) {
      if (is_drawn(point, chart_)) path.emplace_back(px(point.x), py(point.y));
    }
    canvas_.line(path, pen);
    for (const ChartPoint& point : line.points) {
      if (line.dashed || !is_drawn(point, chart_)) continue;
      if (std::isfinite(point.low) && std::isfinite(point.high) && point.high > point.low && (!chart_.log_y || point.low > 0))
        canvas_.line({{px(point.x), py(point.low)}, {px(point.x), py(point.high)}}, pen);
      canvas_.mark(px(point.x), py(point.y), pen,
                   line.label + ": " + (chart_.percent ? percent_unit_text(point.y, 1) : short_text(point.y)));
    }
  }

  void legend() const {
    double x = x_ + kLeft, y = y_ + kHeight - kRowOfLegend + 3;
    for (size_t i = 0, curves = 0; i < chart_.lines.size(); ++i) {
      canvas_.line({{x, y}, {x + 18, y}}, pen_of(i, curves));
      quiet(x + 23, y + 4, chart_.lines[i].label, Anchor::kStart);
      x += 34 + 6.4 * static_cast<double>(chart_.lines[i].label.size());
    }
  }

  const LineChart& chart_;
  double x_, y_;
  std::set<double> values_;  // of x, each a tick
  std::vector<double> ticks_;
  Range across_, up_;
  ChartCanvas& canvas_;
};

int columns_of(const std::vector<LineChart>& charts, int columns) {
  return std::clamp(static_cast<int>(charts.size()), 1, columns);
}

}  // namespace

Size charts_size(const std::vector<LineChart>& charts, int columns) {
  const int across = columns_of(charts, columns), down = (static_cast<int>(charts.size()) + across - 1) / across;
  return {.height = down * (kHeight + kGap) + kGap, .width = across * (kWidth + kGap) + kGap};
}

void draw_charts(const std::vector<LineChart>& charts, int columns, ChartCanvas& canvas) {
  const int across = columns_of(charts, columns);
  for (size_t i = 0; i < charts.size(); ++i) {
    const int column = static_cast<int>(i) % across, row = static_cast<int>(i) / across;
    Panel(charts[i], kGap + column * (kWidth + kGap), kGap + row * (kHeight + kGap), canvas).draw();
  }
}

}  // namespace tessera
