#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "core/files.h"
#include "core/json_text.h"
#include "report/embedded.h"
#include "report/html.h"
#include "report/number_text.h"
#include "study/scale/scale_columns.h"
#include "study/scale/scale_files.h"
#include "study/scale/scale_state.h"

namespace tessera {
namespace {

// "Strong scaling of unet/microscopy: on 4 ranks 3.6 times as fast as on 1, 90 % of ideal."
std::string headline(const ScaleTable& table, const ScaleConfig& config) {
  const ScaleRow* best = nullptr;
  for (const ScaleRow& row : table.rows) {
    if (row.ideal > 1 && std::isfinite(row.speed_up) && (best == nullptr || row.speed_up > best->speed_up)) best = &row;
  }
  std::string text = fmt::format("{} scaling of {}", config.scaling == Scaling::kStrong ? "Strong" : "Weak", config.config);
  if (best == nullptr) return text + ".";
  return text + fmt::format(": with {} ({}) {:.3g} times as many images a second as with {:.0f}, {} of ideal.",
                            best->ranks == 1 ? "1 rank" : fmt::format("{} ranks", best->ranks), curve_label(table, *best),
                            best->speed_up, static_cast<double>(best->ranks) / best->ideal,
                            percent_unit_text(best->efficiency, 1));
}

std::string rows_table(const ScaleTable& table) {
  const std::vector<ScaleColumn> columns = shown_columns(table);
  const bool models = std::any_of(table.rows.begin(), table.rows.end(), [](const ScaleRow& row) { return !row.model.empty(); });
  std::string html =
      std::string("<table><thead><tr>") + (models ? "<th>model</th>" : "") + "<th>mode</th><th>ranks</th><th>batch</th>";
  for (const ScaleColumn& column : columns)
    html += fmt::format("<th title=\"{}\">{}</th>", escape_html(column.help),
                        escape_html(std::string(column.key) == "metric" ? table.metric : std::string(column.title)));
  html += "<th>trainings</th></tr></thead>";
  for (const ScaleRow& row : table.rows) {
    html += "<tr>" + (models ? "<td>" + escape_html(row.model.empty() ? "–" : row.model) + "</td>" : "");
    html += fmt::format("<td>{}</td><td>{}</td><td>{}</td>", name_of(row.mode), row.ranks, row.batch_size);
    for (const ScaleColumn& column : columns) html += "<td>" + escape_html(cell_text(column, row)) + "</td>";
    html += fmt::format("<td>{}{}{}</td></tr>", row.complete, row.failed > 0 ? fmt::format(", {} failed", row.failed) : "",
                        row.unfinished > 0 ? fmt::format(", {} to come", row.unfinished) : "");
  }
  return html + "</table>";
}

std::string failures(const std::vector<ScaleOutcome>& outcomes) {
  std::string rows;
  for (const ScaleOutcome& outcome : outcomes) {
    if (outcome.state == TrialState::kComplete) continue;
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td class=\"why\">{}</td></tr>", escape_html(cell_name(outcome.cell)),
                        name_of(outcome.state), escape_html(outcome.reason));
  }
  if (rows.empty()) return "";
  return "<section><header><h2>Not complete</h2></header><div class=\"card "
         "scroll\"><table><thead><tr><th>training</th><th>state</th><th>why</th></tr></thead>" +
         rows + "</table></div></section>";
}

std::string notes(const ScaleTable& table, const ScaleConfig& config) {
  std::vector<std::string> all;
  if (!table.machine.empty()) all.push_back(fmt::format("{}, program {}", table.machine, table.commit));
  if (std::isfinite(table.target)) {
    const char* const whose = config.target ? "as asked for" : "the highest that every training reached";
    all.push_back(fmt::format("target: {} {:.4f}, {}", table.metric, table.target, whose));
  }
  if (!table.currency.empty()) all.push_back("costs in " + table.currency + " by the prices given");
  return escape_html(fmt::format("{}", fmt::join(all, "; ")));
}

}  // namespace

std::string scale_page(const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes, const ScaleConfig& config) {
  std::string charts, help = "<dl>";
  for (const LineChart& chart : scale_charts(table, config.scaling)) charts += svg_charts({chart}, false);
  for (const ScaleColumn& column : shown_columns(table))
    help += fmt::format("<dt>{}</dt><dd>{}</dd>", escape_html(column.title), escape_html(column.help));
  return fill_template(embedded_file("scale.html"), {{"title", escape_html("Scaling: " + config.name)},
                                                     {"style", std::string(embedded_file("theme.css")) + svg_chart_style()},
                                                     {"theme_script", std::string(embedded_file("theme.js"))},
                                                     {"headline", escape_html(headline(table, config))},
                                                     {"notes", notes(table, config)},
                                                     {"charts", charts},
                                                     {"rows", rows_table(table)},
                                                     {"help", help + "</dl>"},
                                                     {"failures", failures(outcomes)}});
}

void write_scale_files(const fs::path& folder, const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes,
                       const ScaleConfig& config) {
  write_file(folder / "scale.csv", scale_csv(table));
  write_file(folder / "scale.json", json_text(scale_json(table, outcomes, config), 1) + "\n");
  write_file(folder / "scale.svg", svg_charts(scale_charts(table, config.scaling), true));
  write_file(folder / "scale.html", scale_page(table, outcomes, config));
}

}  // namespace tessera
