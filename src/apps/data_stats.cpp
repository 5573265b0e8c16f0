#include "apps/data_stats.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/data_report.h"
#include "core/files.h"
#include "core/json_text.h"
#include "core/printable.h"
#include "core/secrets.h"
#include "report/stats_page.h"

namespace tessera {
namespace {

constexpr size_t kNamesShown = 10;

void print_figures(const DataReport& report, const ClassTable& classes) {
  const int64_t labelled = report.labelled_pixels;
  fmt::print("  {:<28} {:>14} {:>8} {:>8} {:>8}\n", "class", "pixels", "share", "images", "weight");
  for (size_t c = 0; c < classes.names.size(); ++c) {
    fmt::print("  {:<28} {:>14} {:>7.2f}% {:>8} {:>8.3f}\n", printable(classes.names[c]), report.pixels_per_class[c],
               100.0 * static_cast<double>(report.pixels_per_class[c]) / static_cast<double>(std::max<int64_t>(1, labelled)),
               report.images_per_class[c], report.suggested_class_weights[c]);
  }
  fmt::print("  ignored pixels {}\n  sizes", report.ignored_pixels);
  for (const auto& [size, count] : report.sizes) fmt::print("  {} ({})", size, count);
  fmt::print("\n  data.normalize.mean=[{:.4f}] data.normalize.std=[{:.4f}]\n", fmt::join(report.mean, ","),
             fmt::join(report.std, ","));
}

void print_split(Split split, const DataReport& report, const ClassTable& classes) {
  fmt::print("{}: {} usable samples of {}{}\n", name_of(split), report.usable(), report.checked,
             report.faults.empty() ? "" : fmt::format("; {} unusable, see `tessera data check`", report.faults.size()));
  if (report.usable() > 0) {
    print_figures(report, classes);
    return;
  }
  for (size_t i = 0; i < std::min(report.faults.size(), kNamesShown); ++i) {
    fmt::print("  {}: {}\n", printable(report.faults[i].id), printable(report.faults[i].reason));
  }
}

SplitFigures figures_of(Split split, const DataReport& report, const ClassTable& classes) {
  return {.split = std::string(name_of(split)),
          .usable = report.usable(),
          .checked = report.checked,
          .classes = classes.names,
          .palette = classes.palette,
          .pixels = report.pixels_per_class,
          .images = report.images_per_class,
          .weights = report.suggested_class_weights,
          .labelled_pixels = report.labelled_pixels,
          .ignored_pixels = report.ignored_pixels,
          .sizes = report.sizes,
          .mean = report.mean,
          .std = report.std,
          .histogram = report.histogram};
}

}  // namespace

int data_stats(const StatsArguments& arguments, const DataConfig& config, const std::vector<OpenSplit>& open) {
  nlohmann::json all;
  std::vector<SplitFigures> figures;
  int code = 0;
  for (const OpenSplit& split : open) {
    const ClassTable& classes = split.data->classes();
    const DataReport report = shown_report(examine(split, config));
    if (report.usable() == 0 && report.checked > 0) code = 1;
    figures.push_back(figures_of(split.split, report, classes));
    if (arguments.json) {
      all[std::string(name_of(split.split))] = report_json(report, classes);
    } else {
      print_split(split.split, report, classes);
    }
  }
  if (arguments.json) fmt::print("{}\n", json_text(all, 2));
  if (arguments.html.empty()) return code;
  write_file(arguments.html, render_stats_page("Statistics of " + without_secrets(config.path), figures));
  if (!arguments.json) fmt::print("{}\n", printable(arguments.html));
  return code;
}

}  // namespace tessera
