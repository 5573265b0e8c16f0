#include <algorithm>
#include <cmath>
#include <map>

#include "study/scale/scale_files.h"

namespace tessera {
namespace {

// One line per model and mode.
std::vector<ChartLine> lines_of(const ScaleTable& table, double ScaleRow::*value, double ScaleRow::*low = nullptr,
                                double ScaleRow::*high = nullptr) {
  std::vector<ChartLine> lines;
  for (const ScaleRow& row : table.rows) {
    const std::string label = curve_label(table, row);
    auto line = std::find_if(lines.begin(), lines.end(), [&](const ChartLine& other) { return other.label == label; });
    if (line == lines.end()) {
      lines.push_back({.label = label});
      line = lines.end() - 1;
    }
    line->points.push_back({static_cast<double>(row.ranks), row.*value, low != nullptr ? row.*low : kNoValue,
                            high != nullptr ? row.*high : kNoValue});
  }
  return lines;
}

// What `times` the ranks would give, from the fewest to the most.
ChartLine ideal_line(const ScaleTable& table, const std::string& label, bool constant) {
  int64_t fewest = table.rows.front().ranks, most = fewest;
  for (const ScaleRow& row : table.rows) {
    fewest = std::min(fewest, row.ranks);
    most = std::max(most, row.ranks);
  }
  ChartLine line{.label = label, .dashed = true};
  for (int64_t ranks = fewest; ranks < most; ranks *= 2)
    line.points.push_back(
        {static_cast<double>(ranks), constant ? 1.0 : static_cast<double>(ranks) / static_cast<double>(fewest)});
  line.points.push_back({static_cast<double>(most), constant ? 1.0 : static_cast<double>(most) / static_cast<double>(fewest)});
  return line;
}

bool any(const ScaleTable& table, double ScaleRow::*value) {
  return std::any_of(table.rows.begin(), table.rows.end(), [&](const ScaleRow& row) { return std::isfinite(row.*value); });
}

}  // namespace

std::vector<LineChart> scale_charts(const ScaleTable& table, Scaling scaling) {
  std::vector<LineChart> charts;
  if (table.rows.empty()) return charts;
  const auto add = [&](LineChart chart, double ScaleRow::*value, double ScaleRow::*low = nullptr,
                       double ScaleRow::*high = nullptr) {
    if (!any(table, value)) return;
    chart.x_label = "ranks";
    chart.log_x = true;
    for (ChartLine& line : lines_of(table, value, low, high)) chart.lines.push_back(std::move(line));
    charts.push_back(std::move(chart));
  };
  add({.title = "Speed-up", .log_y = true, .lines = {ideal_line(table, "ideal", false)}}, &ScaleRow::speed_up);
  add({.title = "Efficiency", .percent = true, .lines = {ideal_line(table, "ideal", true)}}, &ScaleRow::efficiency);
  add({.title = "Training time per epoch", .y_label = "seconds", .log_y = true}, &ScaleRow::epoch_s, &ScaleRow::epoch_s_low,
      &ScaleRow::epoch_s_high);
  add({.title = std::string(scaling == Scaling::kStrong ? "Result, same batch" : "Result, batch grows"),
       .y_label = table.metric,
       .from_zero = false},
      &ScaleRow::metric, &ScaleRow::metric_low, &ScaleRow::metric_high);
  add({.title = "Exchange hidden behind the backward pass", .percent = true}, &ScaleRow::hidden_share);
  add({.title = "Memory of a rank", .y_label = "MB"}, &ScaleRow::memory_mb);
  add({.title = "Cost of an epoch", .y_label = table.currency}, &ScaleRow::cost_per_epoch);
  add({.title = "Cost to reach the target", .y_label = table.currency}, &ScaleRow::cost_to_target);
  return charts;
}

}  // namespace tessera
