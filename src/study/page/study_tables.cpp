#include "study/page/study_tables.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

#include "report/html.h"
#include "report/number_text.h"
#include "study/pareto.h"
#include "study/schedule/copies.h"

namespace tessera {
namespace {

std::string settings_of(const StudyPageInput& study, const Trial& trial) {
  return escape_html(study.space.text(current_parameters(trial)));
}

std::string objective_heads(const StudyPageInput& study) {
  std::string head;
  for (const Objective& objective : study.info.objectives)
    head += fmt::format("<th class=\"number\">{}</th>", escape_html(objective.metric));
  return head;
}

std::string trial_row(const StudyPageInput& study, const Trial& trial, bool with_state) {
  std::string row = fmt::format("<tr><th scope=\"row\" data-value=\"{0}\">{0}</th>", trial.number);
  if (with_state)
    row += fmt::format("<td data-value=\"{0}\">{0}</td><td class=\"number\" data-value=\"{1}\">{1}</td>", name_of(trial.state),
                       trial.reports.empty() ? "" : std::to_string(trial.reports.back().step));
  for (size_t i = 0; i < study.info.objectives.size(); ++i) {
    const bool known = i < trial.values.size() && std::isfinite(trial.values[i]);
    row += fmt::format("<td class=\"number\" data-value=\"{}\">{}</td>", known ? fmt::format("{:.10g}", trial.values[i]) : "",
                       known ? fmt::format("{:.5g}", trial.values[i]) : "–");
  }
  return row + fmt::format("<td data-value=\"{0}\">{0}</td></tr>", settings_of(study, trial));
}

// What the trials of a study did at one step.
std::string rung_row(const StudyPageInput& study, int64_t step) {
  int64_t reached = 0, stopped = 0, paused = 0;
  double least = INFINITY, best = 0;
  for (const Trial& trial : study.trials) {
    if (trial.reports.empty() || trial.reports.back().step < step) continue;
    ++reached;
    const bool here = trial.reports.back().step == step;
    stopped += here && trial.state == TrialState::kStopped ? 1 : 0;
    paused += here && trial.state == TrialState::kPaused ? 1 : 0;
    for (const Report& report : trial.reports) {
      const double now = losses_of({report.value}, {study.info.objectives.at(0).direction})[0];
      if (report.step == step && now < least) {
        least = now;
        best = report.value;
      }
    }
  }
  return fmt::format(
      "<tr><td>{} {}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td></tr>",
      step, escape_html(study.unit), reached, stopped, paused, std::isfinite(least) ? short_text(best) : "–");
}

}  // namespace

std::string rung_table(const StudyPageInput& study) {
  std::set<int64_t> steps;
  for (const Trial& trial : study.trials) {
    if ((trial.state == TrialState::kStopped || trial.state == TrialState::kPaused) && !trial.reports.empty())
      steps.insert(trial.reports.back().step);
  }
  if (steps.empty()) return "";
  std::string rows;
  for (const int64_t step : steps) rows += rung_row(study, step);
  return fmt::format(
      "<div class=\"card scroll tall\"><table><thead><tr><th>At</th><th class=\"number\">came there</th>"
      "<th class=\"number\">stopped there</th><th class=\"number\">pause there</th>"
      "<th class=\"number\">best {}</th></tr></thead><tbody>{}</tbody></table></div>",
      escape_html(study.info.objectives.at(0).metric), rows);
}

std::string front_table(const StudyPageInput& study, const std::vector<size_t>& members) {
  std::string rows;
  for (const size_t i : members) rows += trial_row(study, study.trials[i], /*with_state=*/false);
  return "<div class=\"card scroll tall\" style=\"margin-top:16px\"><table class=\"sortable\"><thead><tr><th>Trial</th>" +
         objective_heads(study) + "<th>Settings</th></tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::string trial_table(const StudyPageInput& study) {
  if (study.trials.empty()) return "";
  const size_t first = study.trials.size() > kMostTrialRows ? study.trials.size() - kMostTrialRows : 0;
  std::string rows;
  for (size_t i = first; i < study.trials.size(); ++i) rows += trial_row(study, study.trials[i], /*with_state=*/true);
  return "<div class=\"card scroll tall\"><table class=\"sortable\"><thead><tr><th>Trial</th><th>State</th>"
         "<th class=\"number\">Step</th>" +
         objective_heads(study) + "<th>Settings</th></tr></thead><tbody>" + rows + "</tbody></table></div>";
}

std::string failure_table(const StudyPageInput& study) {
  std::string rows;
  for (const Trial& trial : study.trials) {
    if (trial.state != TrialState::kFailed) continue;
    rows += fmt::format("<tr><td>{}</td><td>{}</td><td>{}</td></tr>", trial.number, escape_html(trial.reason),
                        settings_of(study, trial));
  }
  if (rows.empty()) return "";
  return "<div class=\"card scroll tall\"><table class=\"wrap\"><thead><tr><th>Trial</th><th>Why</th><th>Settings</th></tr>"
         "</thead><tbody>" +
         rows + "</tbody></table></div>";
}

}  // namespace tessera
