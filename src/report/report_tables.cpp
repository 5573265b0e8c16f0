#include "report/report_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "core/json_text.h"
#include "report/html.h"
#include "report/number_text.h"

namespace tessera {
namespace {

constexpr size_t kMaxPairs = 15;
constexpr size_t kMaxBadSamples = 200;
constexpr double kSmallestShare = 1e-4;

std::string score_cell(double value, const char* kind = "number") {
  const std::string key = std::isfinite(value) ? fmt::format("{:.6f}", value) : "";
  return fmt::format("<td class=\"{}\" data-value=\"{}\">{}</td>", kind, key, percent_text(value));
}

std::string bar_cell(double value) {
  if (!std::isfinite(value)) return score_cell(value, "bar");
  return fmt::format(
      "<td class=\"bar\" data-value=\"{:.6f}\"><span class=\"track\"><i style=\"width:{:.1f}%\"></i></span><b>{}</b></td>",
      value, 100 * std::clamp(value, 0.0, 1.0), percent_text(value));
}

std::string count_cell(int64_t count) {
  return fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", count, count_text(count));
}

std::string chip(const std::vector<std::array<uint8_t, 3>>& palette, size_t index) {
  if (index >= palette.size()) return "";
  const auto& [r, g, b] = palette[index];
  return fmt::format("<i class=\"chip\" style=\"background:#{:02x}{:02x}{:02x}\"></i>", r, g, b);
}

void flatten(const nlohmann::json& value, const std::string& name, std::string& rows) {
  if (value.is_object()) {
    for (const auto& [key, inner] : value.items()) flatten(inner, name.empty() ? key : name + "." + key, rows);
    return;
  }
  const std::string text = value.is_string() ? value.get<std::string>() : json_text(value);
  rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape_html(name), escape_html(text));
}

struct Pair {
  size_t label;
  size_t prediction;
  int64_t pixels;
  double share;
};

std::vector<Pair> worst_pairs(const std::vector<std::vector<int64_t>>& confusion) {
  std::vector<int64_t> totals;
  for (const auto& row : confusion) totals.push_back(std::accumulate(row.begin(), row.end(), int64_t{0}));
  const auto all = static_cast<double>(std::accumulate(totals.begin(), totals.end(), int64_t{0}));
  std::vector<Pair> pairs;
  for (size_t label = 0; label < confusion.size(); ++label) {
    const auto total = static_cast<double>(totals[label]);
    if (total < all * kSmallestShare) continue;
    for (size_t other = 0; other < confusion.size(); ++other) {
      const int64_t pixels = confusion[label][other];
      if (other != label && pixels > 0) pairs.push_back({label, other, pixels, static_cast<double>(pixels) / total});
    }
  }
  const size_t shown = std::min(pairs.size(), kMaxPairs);
  std::partial_sort(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(shown), pairs.end(),
                    [](const Pair& a, const Pair& b) { return a.share > b.share; });
  pairs.resize(shown);
  return pairs;
}

// The first cells of a row: number, colour and name of a class.
std::string class_cells(const EvalPoint& eval, const std::vector<std::string>& names,
                        const std::vector<std::array<uint8_t, 3>>& palette, size_t index) {
  const std::string& own = eval.per_class[index].name;
  const std::string name = own.empty() ? class_name(eval, names, index) : own;
  // A line may list the classes in its own order; the colour goes by name.
  const auto known = std::find(names.begin(), names.end(), name);
  const size_t colour = known != names.end() ? static_cast<size_t>(known - names.begin()) : index;
  return fmt::format(
      "<tr><td class=\"number quiet\" data-value=\"{0}\">{0}</td><th scope=\"row\" data-value=\"{1}\">{2}{1}</th>", index,
      escape_html(name), chip(palette, colour));
}

}  // namespace

std::string class_name(const EvalPoint& eval, const std::vector<std::string>& names, size_t index) {
  if (index < names.size() && !names[index].empty()) return names[index];
  if (index < eval.per_class.size() && !eval.per_class[index].name.empty()) return eval.per_class[index].name;
  return fmt::format("class {}", index);
}

std::string class_table(const EvalPoint& eval, const std::vector<std::string>& names,
                        const std::vector<std::array<uint8_t, 3>>& palette) {
  if (eval.per_class.empty()) return "";
  const bool boundaries = std::any_of(eval.per_class.begin(), eval.per_class.end(),
                                      [](const ClassEntry& c) { return std::isfinite(c.boundary_iou); });
  int64_t pixels = 0;
  for (const ClassEntry& score : eval.per_class) pixels += score.pixels;
  std::string rows;
  for (size_t i = 0; i < eval.per_class.size(); ++i) {
    const ClassEntry& score = eval.per_class[i];
    const double share = pixels > 0 ? static_cast<double>(score.pixels) / static_cast<double>(pixels) : kNoValue;
    rows += class_cells(eval, names, palette, i) + bar_cell(score.iou) + score_cell(score.precision) +
            score_cell(score.accuracy) + score_cell(score.dice);
    if (boundaries) rows += score_cell(score.boundary_iou);
    rows += score_cell(share) + "</tr>";
  }
  return fmt::format(
      "<div class=\"card scroll tall\"><table class=\"classes sortable\"><thead><tr><th class=\"number\">#</th><th>Class</th>"
      "<th>IoU, %</th><th class=\"number\">Precision, %</th><th class=\"number\">Recall, %</th><th class=\"number\">F1, %</th>"
      "{}<th class=\"number\">Share of pixels, %</th></tr></thead><tbody>{}</tbody></table></div>",
      boundaries ? "<th class=\"number\">Boundary IoU, %</th>" : "", rows);
}

std::string object_table(const EvalPoint& eval, const std::vector<std::string>& names,
                         const std::vector<std::array<uint8_t, 3>>& palette) {
  std::string rows;
  for (size_t i = 0; i < eval.per_class.size(); ++i) {
    if (!eval.per_class[i].objects) continue;
    const ObjectEntry& found = *eval.per_class[i].objects;
    rows += class_cells(eval, names, palette, i) + count_cell(found.labelled) + count_cell(found.predicted) +
            count_cell(found.matched) + score_cell(found.precision) + score_cell(found.recall) + bar_cell(found.f1) +
            score_cell(found.segmentation_quality) + score_cell(found.panoptic_quality) + "</tr>";
  }
  if (rows.empty()) return "";
  return fmt::format(
      "<h3>Objects</h3><div class=\"card scroll tall\"><table class=\"classes sortable\"><thead><tr><th class=\"number\">#</th>"
      "<th>Class</th><th class=\"number\">Labelled</th><th class=\"number\">Predicted</th><th class=\"number\">Matched</th>"
      "<th class=\"number\">Precision, %</th><th class=\"number\">Recall, %</th><th>F1, %</th><th class=\"number\">SQ, %</th>"
      "<th class=\"number\">PQ, %</th></tr></thead><tbody>{}</tbody></table></div>",
      rows);
}

std::string confused_pairs(const EvalPoint& eval, const std::vector<std::string>& names) {
  std::string rows;
  for (const Pair& pair : worst_pairs(eval.confusion)) {
    rows += fmt::format(
        "<tr title=\"{} pixels\"><td>{} <span class=\"quiet\">taken for</span> {}</td><td class=\"number\">{}</td></tr>",
        count_text(pair.pixels), escape_html(class_name(eval, names, pair.label)),
        escape_html(class_name(eval, names, pair.prediction)), percent_text(pair.share, 1));
  }
  if (rows.empty()) return "";
  return fmt::format(
      "<div class=\"pairs\"><h3>Most confused</h3><table><thead><tr><th>Label and prediction</th>"
      "<th class=\"number\">% of label</th></tr></thead><tbody>{}</tbody></table></div>",
      rows);
}

std::string bad_sample_table(const std::vector<BadSampleEntry>& samples) {
  if (samples.empty()) return "";
  // A resumed session meets the same bad file again: one row per sample, in the order they were found.
  std::map<std::string, int> times;
  std::vector<const BadSampleEntry*> distinct;
  for (const BadSampleEntry& sample : samples) {
    if (++times[sample.id] == 1) distinct.push_back(&sample);
  }
  std::string rows;
  for (size_t i = 0; i < std::min(distinct.size(), kMaxBadSamples); ++i) {
    const BadSampleEntry& sample = *distinct[i];
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td class=\"number\">{}</td></tr>",
                        escape_html(sample.id), escape_html(sample.reason), escape_html(sample.replaced_by), times[sample.id]);
  }
  std::string more;
  if (distinct.size() > kMaxBadSamples) {
    more = fmt::format("<p class=\"note\">{} more are in log.jsonl.</p>",
                       count_text(static_cast<int64_t>(distinct.size() - kMaxBadSamples)));
  }
  return fmt::format(
      "<div class=\"card scroll tall\"><table class=\"wrap\"><thead><tr><th>Sample</th><th>Reason</th><th>Replaced by</th>"
      "<th class=\"number\">Times</th></tr></thead><tbody>{}</tbody></table></div>{}",
      rows, more);
}

std::string key_value_table(const nlohmann::json& object) {
  std::string rows;
  if (object.is_object()) flatten(object, "", rows);
  return rows.empty()
             ? ""
             : fmt::format("<div class=\"card scroll\"><table class=\"pairs-of\"><tbody>{}</tbody></table></div>", rows);
}

std::string picture_grid(const std::vector<ReportPicture>& pictures) {
  std::string figures;
  for (const ReportPicture& picture : pictures) {
    const std::string score =
        std::isfinite(picture.score) ? fmt::format("<b>{} IoU</b>", percent_unit_text(picture.score, 1)) : std::string();
    figures += fmt::format(
        "<figure class=\"card picture\"><button type=\"button\" "
        "class=\"zoom\">{}</button><figcaption><span>{}</span>{}</figcaption></figure>",
        png_element(picture.png, picture.caption), escape_html(picture.caption), score);
  }
  return figures.empty() ? "" : "<div class=\"pictures\">" + figures + "</div>";
}

}  // namespace tessera
