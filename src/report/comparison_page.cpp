#include "report/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/plural.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/page.h"
#include "report/report_tables.h"

namespace tessera {
namespace {

std::string points_text(double share) {
  return std::isfinite(share) ? fmt::format("{:+.2f}", 100 * share) : percent_text(share);
}

std::string p_text(double p) {
  return std::isnan(p) ? "" : p < 0.001 ? "p < 0.001" : fmt::format("p = {:.3f}", p);
}

std::string range_text(double low, double high) {
  return std::isnan(low) ? "" : fmt::format("{} to {}", percent_text(low), percent_text(high));
}

const char* color_of(const std::string& verdict) {
  return verdict == "better" ? "good" : verdict == "worse" ? "bad" : "quiet";
}

std::string value_cell(const ComparedValue& value) {
  std::string html =
      fmt::format("<td class=\"number\" data-value=\"{}\"><b>{}</b>",
                  std::isfinite(value.value) ? fmt::format("{:.6f}", value.value) : "", percent_text(value.value));
  if (const std::string range = range_text(value.low, value.high); !range.empty())
    html += fmt::format("<br><span class=\"quiet\">{}</span>", range);
  if (!value.verdict.empty())
    html += fmt::format("<br><span class=\"{}\">{} points, {}: {}</span>", color_of(value.verdict),
                        points_text(value.difference), p_text(value.p), value.verdict);
  return html + "</td>";
}

std::string metric_table(const ComparisonInput& input, const std::vector<ComparedMetric>& metrics, const char* what) {
  std::string head, rows;
  for (const std::string& name : input.models) head += fmt::format("<th class=\"number\">{}, %</th>", escape_html(name));
  for (const ComparedMetric& metric : metrics) {
    rows += fmt::format("<tr><th scope=\"row\" data-value=\"{0}\">{0}</th>", escape_html(metric.name));
    for (const ComparedValue& value : metric.models) rows += value_cell(value);
    rows += "</tr>";
  }
  return fmt::format(
      "<div class=\"card scroll tall\"><table "
      "class=\"sortable\"><thead><tr><th>{}</th>{}</tr></thead><tbody>{}</tbody></table></div>",
      what, head, rows);
}

// Differences of classes with their intervals around a line of no difference, the largest first: one drawing for each model
// but the first.
std::string difference_plot(const ComparisonInput& input, size_t model) {
  constexpr int kRow = 22, kLeft = 190, kWidth = 760, kRight = 20, kMost = 60;
  std::vector<const ComparedMetric*> shown;
  for (const ComparedMetric& metric : input.classes) {
    if (std::isfinite(metric.models[model].difference) && std::isfinite(metric.models[model].difference_low))
      shown.push_back(&metric);
  }
  if (shown.empty()) return "";
  std::sort(shown.begin(), shown.end(),
            [&](const auto* a, const auto* b) { return a->models[model].difference > b->models[model].difference; });
  if (shown.size() > kMost) {  // the best and the worst of very many
    std::rotate(shown.begin() + kMost / 2, shown.end() - kMost / 2, shown.end());
    shown.resize(kMost);
  }
  double reach = 1e-4;
  for (const auto* metric : shown)
    reach = std::max({reach, std::abs(metric->models[model].difference_low), std::abs(metric->models[model].difference_high)});
  const double middle = kLeft + kWidth / 2.0, scale = kWidth / 2.0 / reach;
  const int height = kRow * static_cast<int>(shown.size()) + 30;
  std::string svg = fmt::format(
      "<svg class=\"differences\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Difference in IoU of each class\">",
      kLeft + kWidth + kRight, height);
  svg += fmt::format("<line x1=\"{0}\" x2=\"{0}\" y1=\"4\" y2=\"{1}\" stroke=\"var(--line)\" stroke-width=\"1.5\"/>", middle,
                     height - 24);
  for (size_t i = 0; i < shown.size(); ++i) {
    const ComparedValue& value = shown[i]->models[model];
    const double y = kRow * (static_cast<double>(i) + 0.5) + 4;
    const std::string color = fmt::format("var(--{})", color_of(value.verdict));
    svg += fmt::format("<text x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>", kLeft - 12, y + 4,
                       escape_html(shown[i]->name));
    svg += fmt::format("<line x1=\"{:.1f}\" x2=\"{:.1f}\" y1=\"{y:.1f}\" y2=\"{y:.1f}\" stroke=\"{}\" stroke-width=\"2\"/>",
                       middle + scale * value.difference_low, middle + scale * value.difference_high, color, fmt::arg("y", y));
    svg += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"4\" fill=\"{}\"><title>{} points, {}</title></circle>",
                       middle + scale * value.difference, y, color, points_text(value.difference), p_text(value.p));
  }
  for (const double share : {-reach, 0.0, reach})
    svg += fmt::format("<text class=\"axis\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"{}\">{:+.1f}</text>", middle + scale * share,
                       height - 6, share > 0 ? "end" : "middle", 100 * share);
  return fmt::format(
      "<figure class=\"card plot-of\"><figcaption><h3>{} beside {}</h3><span class=\"quiet\">points of IoU; coloured where the "
      "difference is not chance</span></figcaption>{}</svg></figure>",
      escape_html(input.models[model]), escape_html(input.models[0]), svg);
}

std::string setting_table(const ComparisonInput& input) {
  if (input.settings.empty()) return "";
  std::string head, rows;
  for (const std::string& name : input.models) head += fmt::format("<th>{}</th>", escape_html(name));
  for (const ComparedSetting& setting : input.settings) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(setting.key));
    for (const std::string& value : setting.values) rows += fmt::format("<td>{}</td>", escape_html(value));
    rows += "</tr>";
  }
  return fmt::format(
      "<div class=\"card scroll tall\"><table "
      "class=\"wrap\"><thead><tr><th>Key</th>{}</tr></thead><tbody>{}</tbody></table></div>",
      head, rows);
}

std::string tiles(const ComparisonInput& input) {
  std::string html;
  if (input.means.empty()) return html;
  for (size_t i = 0; i < input.models.size(); ++i) {
    const ComparedValue& value = input.means.front().models[i];
    std::string detail = range_text(value.low, value.high);
    if (!value.verdict.empty()) detail = fmt::format("{} points, {}", points_text(value.difference), value.verdict);
    html += tile_html({.label = input.models[i],
                       .value = percent_text(value.value),
                       .unit = "%",
                       .detail = detail,
                       .kind = i == 0 ? "" : "lead"});
  }
  return html;
}

std::string facts_body(const ComparisonInput& input) {
  std::string rows;
  for (size_t i = 0; i < input.models.size() && i < input.facts.size(); ++i)
    rows +=
        fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape_html(input.models[i]), escape_html(input.facts[i]));
  return fmt::format("<div class=\"card scroll\"><table class=\"pairs-of\"><tbody>{}</tbody></table></div>", rows);
}

}  // namespace

std::string render_comparison(const ComparisonInput& input) {
  std::string differences;
  for (size_t model = 1; model < input.models.size(); ++model) differences += difference_plot(input, model);
  const std::string level = fmt::format("{:g} %", 100 * input.confidence);
  const std::string measured =
      fmt::format("on {} {} that all have in common{}", count_text(input.images), plural(input.images, "image"),
                  input.left_out > 0 ? fmt::format(" ({} that only some have left out)", count_text(input.left_out)) : "");
  Page page;
  page.section("metrics", "Metrics",
               fmt::format("Measured {}. The range is where the metric lies with {} confidence for other images of this kind; "
                           "p is how often exchanging "
                           "the models' predictions at random makes such a difference. What another seed of training would "
                           "change is in neither.",
                           measured, level),
               metric_table(input, input.means, "Metric"));
  page.section("differences", "Differences by class",
               fmt::format("Points are differences in IoU, lines their {} intervals", level), differences);
  page.section("classes", "Classes", "IoU of each class; p is adjusted for the number of classes",
               metric_table(input, input.classes, "Class"));
  page.section("curves", "Curves", "",
               input.curves.empty() ? "" : "<div class=\"curves\">" + curve_figures(input.curves) + "</div>");
  page.section("images", "Images that differ most", input.legend, picture_grid(input.pictures));
  page.section("config", "Settings that differ", "", setting_table(input));
  page.section("models", "Models", "", facts_body(input));
  std::string names;
  for (const std::string& name : input.models) names += (names.empty() ? "" : " · ") + name;
  const std::string headline = input.means.empty() ? "" : metric_label(input.means.front().name);
  return page.html(
      {.title = names, .status = "", .facts = escape_html(fmt::format("{} {}", headline, measured)), .tiles = tiles(input)},
      {{"curves", curve_data(input.curves)}, {"resumes", nlohmann::json::array()}});
}

}  // namespace tessera
