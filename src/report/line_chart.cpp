#include "report/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr int kWidth = 400, kHeight = 290, kGap = 16, kColors = 6;
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

// 1, 2 or 5 times a power of ten, such that `range` has at most six of them.
double nice_step(double range) {
  const double power = std::pow(10, std::floor(std::log10(range / 6)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (range / (factor * power) <= 6) return factor * power;
  }
  return 10 * power;
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

std::string text(double x, double y, const std::string& words, const char* classes, const char* anchor = "start") {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" class=\"{}\" text-anchor=\"{}\">{}</text>", x, y, classes, anchor,
                     escape_html(words));
}

class Panel {
 public:
  Panel(const LineChart& chart, double x, double y)
      : chart_(chart), x_(x), y_(y), across_(x_range(chart, values_)), up_(y_range(chart, ticks_)) {}

  std::string svg() const {
    std::string all = text(x_ + 4, y_ + 18, chart_.title, "t");
    if (values_.empty()) return all + text(x_ + kWidth / 2.0, y_ + kHeight / 2.0, "no values", "q", "middle");
    all += axes();
    for (size_t i = 0, color = 0; i < chart_.lines.size(); ++i) all += line(chart_.lines[i], color_of(i, color));
    return all + legend();
  }

 private:
  double px(double x) const { return x_ + kLeft + across_.share(x) * (kWidth - kLeft - kRight); }
  double py(double y) const { return y_ + kTop + (1 - up_.share(y)) * (kHeight - kTop - kBottom); }

  // Dashed lines have the colour of text; the others one after another.
  std::string color_of(size_t i, size_t& color) const {
    return chart_.lines[i].dashed ? "d" : fmt::format("c{}", color++ % kColors + 1);
  }

  std::string axes() const {
    std::string all;
    for (const double tick : ticks_) {
      all += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"g\"/>", x_ + kLeft,
                         x_ + kWidth - kRight, py(tick), py(tick));
      all += text(x_ + kLeft - 6, py(tick) + 4, chart_.percent ? fmt::format("{:.3g} %", 100 * tick) : short_text(tick), "q",
                  "end");
    }
    for (const double value : values_) {
      all += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"g\"/>", px(value),
                         y_ + kTop, y_ + kHeight - kBottom);
      all += text(px(value), y_ + kHeight - kBottom + 15, short_text(value), "q", "middle");
    }
    all += text(x_ + (kLeft + kWidth - kRight) / 2, y_ + kHeight - kBottom + 32, chart_.x_label, "q", "middle");
    return all + text(x_ + kWidth - kRight, y_ + 18, chart_.y_label, "q", "end");
  }

  std::string line(const ChartLine& line, const std::string& color) const {
    std::string path, marks;
    for (const ChartPoint& point : line.points) {
      if (!is_drawn(point, chart_)) continue;
      path += fmt::format("{}{:.1f} {:.1f}", path.empty() ? "M" : "L", px(point.x), py(point.y));
      if (line.dashed) continue;
      if (std::isfinite(point.low) && std::isfinite(point.high) && point.high > point.low && (!chart_.log_y || point.low > 0))
        marks += fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.1f}\" y2=\"{2:.1f}\" class=\"l {3}\"/>", px(point.x),
                             py(point.low), py(point.high), color);
      marks += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" class=\"m {}\"><title>{}: {}</title></circle>",
                           px(point.x), py(point.y), color, escape_html(line.label),
                           chart_.percent ? percent_unit_text(point.y, 1) : short_text(point.y));
    }
    return fmt::format("<path d=\"{}\" class=\"l {}\"/>", path, color) + marks;
  }

  std::string legend() const {
    std::string all;
    double x = x_ + kLeft, y = y_ + kHeight - kRowOfLegend + 3;
    for (size_t i = 0, color = 0; i < chart_.lines.size(); ++i) {
      const std::string name = color_of(i, color);
      const double width = 34 + 6.4 * static_cast<double>(chart_.lines[i].label.size());
      all +=
          fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{:.1f}\" y2=\"{:.1f}\" class=\"l {}\"/>", x, x + 18, y, y, name);
      all += text(x + 23, y + 4, chart_.lines[i].label, "q");
      x += width;
    }
    return all;
  }

  const LineChart& chart_;
  double x_, y_;
  std::set<double> values_;  // of x, each a tick
  std::vector<double> ticks_;
  Range across_, up_;
};

constexpr const char* kShapes =
    "text{font:12px system-ui,sans-serif}.t{font-weight:600;font-size:14px}.l{fill:none;stroke-width:2}.d{stroke-dasharray:5 "
    "4}";

// The colours of theme.css.
constexpr const char* kLight =
    ".p{fill:#fff}.t{fill:#1d1f21}.q{fill:#6a6d70}.g{stroke:#e4e3de}.d{stroke:#6a6d70}.l.c1{stroke:#0f766e}.l.c2{stroke:#"
    "c2571a}"
    ".l.c3{stroke:#4459b8}.l.c4{stroke:#9a3d86}.l.c5{stroke:#7a7a1f}.l.c6{stroke:#54606b}.m.c1{fill:#0f766e}.m.c2{fill:#c2571a}"
    ".m.c3{fill:#4459b8}.m.c4{fill:#9a3d86}.m.c5{fill:#7a7a1f}.m.c6{fill:#54606b}";

}  // namespace

std::string svg_chart_style() {
  std::string style =
      std::string("svg.charts{display:block;width:100%;height:auto}svg.charts ") + "text{font:12px var(--sans)}";
  for (const char* rule :
       {".t{font-weight:600;font-size:14px;fill:var(--text)}", ".l{fill:none;stroke-width:2}",
        ".d{stroke-dasharray:5 4;stroke:var(--quiet)}", ".q{fill:var(--quiet)}", ".g{stroke:var(--line)}", ".p{fill:none}"})
    style += std::string("svg.charts ") + rule;
  for (int color = 1; color <= kColors; ++color)
    style += fmt::format("svg.charts .l.c{0}{{stroke:var(--series-{0})}}svg.charts .m.c{0}{{fill:var(--series-{0})}}", color);
  return style;
}

std::string svg_charts(const std::vector<LineChart>& charts, bool standalone, int columns) {
  const int across = std::clamp(static_cast<int>(charts.size()), 1, columns),
            down = (static_cast<int>(charts.size()) + across - 1) / across;
  const int width = across * (kWidth + kGap) + kGap, height = down * (kHeight + kGap) + kGap;
  std::string svg =
      fmt::format("<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"charts\" viewBox=\"0 0 {0} {1}\"{2} role=\"img\">", width,
                  height, standalone ? fmt::format(" width=\"{}\" height=\"{}\"", width, height) : "");
  if (standalone) svg += fmt::format("<style>{}{}</style>", kShapes, kLight);
  svg += "<rect width=\"100%\" height=\"100%\" class=\"p\"/>";
  for (size_t i = 0; i < charts.size(); ++i) {
    const int column = static_cast<int>(i) % across, row = static_cast<int>(i) / across;
    svg += Panel(charts[i], kGap + column * (kWidth + kGap), kGap + row * (kHeight + kGap)).svg();
  }
  return svg + "</svg>\n";
}

}  // namespace tessera
