#include "report/html_report.h"

#include <fmt/format.h>

#include "core/plural.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/page.h"
#include "report/report_curves.h"
#include "report/report_headline.h"
#include "report/report_tables.h"
#include "report/report_timeline.h"
#include "report/run_totals.h"

namespace tessera {
namespace {

std::string at_step(const EvalPoint& eval) {
  return "Evaluation at step " + count_text(eval.step);
}

std::string curves_body(const std::vector<Curve>& curves) {
  if (curves.empty())
    return "<p class=\"card empty\">The run has only begun: the log has no training or evaluation lines yet.</p>";
  return "<div class=\"curves\">" + curve_figures(curves) + "</div>";
}

std::string confusion_body(const EvalPoint& eval, const std::vector<std::string>& names) {
  return "<div class=\"card confusion\"><div class=\"matrix\"><canvas id=\"confusion-matrix\" role=\"img\" "
         "aria-label=\"Confusion matrix\"></canvas><p id=\"confusion-hint\" class=\"quiet\">Point at a cell for its "
         "counts.</p></div>" +
         confused_pairs(eval, names) + "</div>";
}

std::string predictions_body(const ReportInput& input) {
  std::string body;
  if (!input.worst.empty()) body += "<h3>Worst</h3>" + picture_grid(input.worst);
  if (!input.best.empty()) body += "<h3>Best</h3>" + picture_grid(input.best);
  return body;
}

std::string config_body(const std::string& yaml) {
  if (yaml.empty()) return "";
  return "<details class=\"card config\"><summary>config.yaml<button type=\"button\" id=\"copy-config\">Copy</button></summary>"
         "<pre id=\"config-text\">" +
         escape_html(yaml) + "</pre></details>";
}

// Counts as the script needs them. Rows are labels, columns predictions.
nlohmann::json confusion_data(const EvalPoint& eval, const std::vector<std::string>& class_names) {
  nlohmann::json names = nlohmann::json::array();
  for (size_t i = 0; i < eval.confusion.size(); ++i) names.push_back(class_name(eval, class_names, i));
  return {{"names", std::move(names)}, {"rows", eval.confusion}};
}

std::string lines_text(int64_t count) {
  return fmt::format("{} log {}", count_text(count), plural(count, "line"));
}

std::string log_notes(const RunHistory& history) {
  std::string notes;
  if (history.superseded_lines > 0) {
    notes += "Without " + lines_text(history.superseded_lines) + " of steps that were done again after a resume. ";
  }
  if (history.torn_lines > 0) notes += "Without " + lines_text(history.torn_lines) + " that could not be read.";
  return notes;
}

}  // namespace

std::string render_report(const ReportInput& input) {
  const RunHistory& history = input.history;
  const std::vector<Curve> curves = make_curves(history);
  nlohmann::json data{{"curves", curve_data(curves)}, {"resumes", nlohmann::json::array()}};
  for (const RunEvent& event : history.events) {
    if (event.type == "resume" && event.step >= 0 && !event.superseded) data["resumes"].push_back(event.step);
  }

  Page page;
  page.section("curves", "Curves", data["resumes"].empty() ? "" : "A dashed line marks a resume", curves_body(curves));
  if (const EvalPoint* eval = last_eval_with_classes(history)) {
    page.section("classes", "Classes", at_step(*eval),
                 class_table(*eval, input.class_names, input.palette) + object_table(*eval, input.class_names, input.palette));
  }
  if (const EvalPoint* eval = last_eval_with_confusion(history)) {
    data["confusion"] = confusion_data(*eval, input.class_names);
    page.section("confusion", "Confusion", at_step(*eval) + "; each row is a label, shaded by the share of its pixels",
                 confusion_body(*eval, input.class_names));
  }
  page.section("predictions", "Predictions", "Each: image, label, prediction", predictions_body(input));
  page.section("quarantine", "Quarantined samples", "Samples that could not be used and what stood in for them",
               bad_sample_table(history.bad_samples));
  page.section("timeline", "Timeline", log_notes(history), timeline_list(history));
  page.section("config", "Config", "", config_body(input.config_yaml));
  page.section("model", "Model", "", key_value_table(input.model));
  page.section("environment", "Environment", "", key_value_table(input.environment));

  return page.html({.title = input.title.empty() ? "Tessera run" : input.title,
                    .status = headline_status(input),
                    .facts = headline_facts(input),
                    .tiles = headline_tiles(input)},
                   data);
}

}  // namespace tessera
