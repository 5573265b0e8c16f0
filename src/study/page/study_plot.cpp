#include "study/page/study_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/axis_ticks.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr double kLeft = 62, kRight = 16, kTop = 12, kBottom = 34, kHeight = 250;

// The best ones are drawn last, over the others.
int depth_of(Look look) {
  switch (look) {
    case Look::kStopped: return 0;
    case Look::kUsual: return 1;
    case Look::kGood: return 2;
    case Look::kBest: break;
  }
  return 3;
}

const char* line_style(Look look) {
  switch (look) {
    case Look::kBest: return "stroke:var(--series-2);stroke-width:2.4";
    case Look::kGood: return "stroke:var(--accent);stroke-width:1.6;stroke-opacity:0.75";
    case Look::kStopped: return "stroke:var(--quiet);stroke-width:1;stroke-opacity:0.45;stroke-dasharray:3 3";
    case Look::kUsual: break;
  }
  return "stroke:var(--quiet);stroke-width:1;stroke-opacity:0.4";
}

const char* mark_style(Look look) {
  switch (look) {
    case Look::kBest: return "fill:var(--series-2)";
    case Look::kGood: return "fill:var(--accent)";
    case Look::kStopped: return "fill:none;stroke:var(--quiet)";
    case Look::kUsual: break;
  }
  return "fill:var(--quiet);fill-opacity:0.6";
}

std::string hint_of(const std::string& text) {
  return text.empty() ? "" : "<title>" + escape_html(text) + "</title>";
}

std::string text_at(double x, double y, const char* anchor, const std::string& words) {
  return fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>", x, y, anchor,
                     escape_html(words));
}

std::string polyline(const std::vector<std::pair<double, double>>& points, Look look, const std::string& hint) {
  std::string all;
  for (const auto& [x, y] : points) all += fmt::format("{:.1f},{:.1f} ", x, y);
  return fmt::format("<polyline points=\"{}\" fill=\"none\" style=\"{}\">{}</polyline>\n", all, line_style(look),
                     hint_of(hint));
}

struct Scale {
  double low = 0, high = 1, width = 520;
  double x(double share) const { return kLeft + share * (width - kLeft - kRight); }
  double y(double value) const { return kTop + (high - value) / (high - low) * (kHeight - kTop - kBottom); }
};

Scale scale_of(const StudyPlot& plot) {
  double low = INFINITY, high = -INFINITY;
  const auto take = [&](double y) {
    if (!std::isfinite(y)) return;
    low = std::min(low, y);
    high = std::max(high, y);
  };
  for (const auto& mark : plot.marks) take(mark.y);
  for (const auto& line : plot.lines) {
    for (const auto& [x, y] : line.points) take(y);
  }
  if (low > high) return {.width = plot.wide ? 1080.0 : 520.0};
  const double room = std::max(0.05 * (high - low), 1e-6 * (1 + std::abs(high)));
  return {low - room, high + room, plot.wide ? 1080.0 : 520.0};
}

template <class Drawn>
std::vector<const Drawn*> best_last(const std::vector<Drawn>& all) {
  std::vector<const Drawn*> ordered;
  for (const Drawn& one : all) ordered.push_back(&one);
  std::stable_sort(ordered.begin(), ordered.end(),
                   [](const Drawn* a, const Drawn* b) { return depth_of(a->look) < depth_of(b->look); });
  return ordered;
}

std::string figure(const std::string& title, const std::string& note, bool wide, double width, double height,
                   const std::string& drawn) {
  // Letters shrink and grow with the drawing; narrower than this, one scrolls.
  const double least = wide ? 0.75 * width : 0.62 * width, most = 1.2 * width;
  return fmt::format(
      "<figure class=\"card curve{}\"><figcaption><h3>{}</h3><span class=\"quiet\">{}</span></figcaption><svg "
      "class=\"differences\" style=\"min-width:{:.0f}px;max-width:{:.0f}px\" viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" "
      "aria-label=\"{}\">{}</svg></figure>\n",
      wide ? " wide" : "", escape_html(title), escape_html(note), least, most, width, height, escape_html(title), drawn);
}

}  // namespace

std::string plot_figure(const StudyPlot& plot) {
  const Scale scale = scale_of(plot);
  std::string svg;
  for (const double value : nice_ticks(scale.low, scale.high)) {
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{y:.1f}\" y2=\"{y:.1f}\" stroke=\"var(--line)\"/>", kLeft,
                       scale.width - kRight, fmt::arg("y", scale.y(value)));
    svg += text_at(kLeft - 8, scale.y(value) + 4, "end", tick_text(value, nice_step(scale.high - scale.low)));
  }
  for (const StudyPlot::Tick& tick : plot.ticks)
    svg += text_at(scale.x(tick.x), kHeight - 10, tick.x < 0.02 ? "start" : tick.x > 0.98 ? "end" : "middle", tick.text);
  for (const StudyPlot::Line* line : best_last(plot.lines)) {
    std::vector<std::pair<double, double>> points;
    for (const auto& [x, y] : line->points) {
      if (std::isfinite(y)) points.emplace_back(scale.x(x), scale.y(y));
    }
    svg += polyline(points, line->look, line->hint);
  }
  for (const StudyPlot::Mark* mark : best_last(plot.marks)) {
    if (!std::isfinite(mark->y)) continue;
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\" style=\"{}\">{}</circle>\n", scale.x(mark->x),
                       scale.y(mark->y), mark->look == Look::kBest ? 5 : 3, mark_style(mark->look), hint_of(mark->hint));
  }
  return figure(plot.title, plot.note, plot.wide, scale.width, kHeight, svg);
}

std::vector<StudyPlot::Tick> whole_ticks(int64_t last, const std::string& first, const std::string& unit) {
  std::vector<StudyPlot::Tick> ticks = {{0, first}, {1, std::to_string(last) + unit}};
  const int64_t middle = last / 2;
  if (middle > 0) ticks.push_back({static_cast<double>(middle) / static_cast<double>(last), std::to_string(middle)});
  return ticks;
}

std::vector<StudyPlot::Tick> parameter_ticks(const Parameter& parameter) {
  std::vector<StudyPlot::Tick> ticks;
  const auto add = [&](double value) { ticks.push_back({parameter.share_of(value), parameter.text_of(value)}); };
  if (parameter.kind == Parameter::Kind::kChoice && parameter.choices.size() <= 6) {
    for (size_t i = 0; i < parameter.choices.size(); ++i) add(static_cast<double>(i));
    return ticks;
  }
  for (const double share : {0.0, 0.5, 1.0}) {
    const double value = parameter.at_share(share);
    ticks.push_back(
        {parameter.share_of(value), parameter.kind == Parameter::Kind::kFloat ? short_text(value) : parameter.text_of(value)});
  }
  return ticks;
}

std::string parallel_figure(const std::vector<ParallelAxis>& axes, const std::vector<ParallelLine>& lines) {
  constexpr double kAxesTop = 44, kAxesBottom = 270, kUnused = 292, kAll = 310, kWidth = 1080;
  const auto x = [&](size_t axis) {
    return 70 + static_cast<double>(axis) * (kWidth - 140) / std::max<double>(1, static_cast<double>(axes.size()) - 1);
  };
  const auto y = [&](double share) { return share < 0 ? kUnused : kAxesBottom - share * (kAxesBottom - kAxesTop); };
  std::string svg;
  for (const ParallelLine* line : best_last(lines)) {
    std::vector<std::pair<double, double>> points;
    for (size_t i = 0; i < line->shares.size(); ++i) points.emplace_back(x(i), y(line->shares[i]));
    svg += polyline(points, line->look, line->hint);
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    svg +=
        fmt::format("<line x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\" stroke=\"var(--text)\" stroke-opacity=\"0.5\"/>",
                    x(i), kAxesTop, kAxesBottom);
    // Long names stand on two levels, so that neighbours do not meet.
    svg += text_at(x(i), i % 2 == 0 ? 14 : 28, "middle", axes[i].title);
    svg += text_at(x(i) + 5, kAxesTop + 4, "start", axes[i].high) + text_at(x(i) + 5, kAxesBottom + 4, "start", axes[i].low);
  }
  return figure("Parallel coordinates", "a line for each complete trial; below an axis where the parameter is not in use", true,
                kWidth, kAll, svg);
}

}  // namespace tessera
