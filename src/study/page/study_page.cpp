#include "study/page/study_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "core/plural.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/page.h"
#include "study/controller/trial_run.h"
#include "study/page/importance.h"
#include "study/page/study_plot.h"
#include "study/page/study_tables.h"
#include "study/pareto.h"
#include "study/schedule/copies.h"

namespace tessera {
namespace {

constexpr size_t kMostDrawn = 400;

class StudyPage {
 public:
  explicit StudyPage(const StudyPageInput& input) : in_(input), metric_(input.info.objectives.at(0).metric) {
    for (const Objective& objective : in_.info.objectives) directions_.push_back(objective.direction);
    for (const Trial& trial : in_.trials) {
      if (has_value(trial)) ranked_.push_back(&trial);
    }
    std::stable_sort(ranked_.begin(), ranked_.end(), [&](const Trial* a, const Trial* b) { return loss(*a) < loss(*b); });
    for (size_t i = 0; i < ranked_.size(); ++i)
      looks_[ranked_[i]->number] = i == 0 ? Look::kBest : 10 * i < ranked_.size() ? Look::kGood : Look::kUsual;
    choose_drawn();
  }

  std::string html() const {
    const std::string few =
        drawn_.size() < in_.trials.size()
            ? fmt::format("; of {} trials the best and the youngest {} are drawn", in_.trials.size(), drawn_.size())
            : "";
    Page page;
    page.section("best", "Best so far", "", best_so_far());
    page.section("front", "Pareto front", "Trials that no other one beats in every objective", front());
    page.section("curves", "Curves of all trials", fmt::format("{} at each report{}", metric_, few), curves());
    page.section(
        "parameters", "Parameters",
        "Orange: the best trial; green: the best tenth. Importance: by how much a forest of 64 trees predicts the ranks of "
        "trials worse when the parameter's values are exchanged among them, over twice their variance: about the share in "
        "which the parameter has a part",
        parameters());
    page.section("rungs", "Rungs", "Where trials were judged", rung_table(in_));
    page.section("failed", "What failed", "", failure_table(in_));
    page.section("config", "Best settings", "", best_settings());
    page.section("trials", "Trials", in_.trials.size() > kMostTrialRows ? fmt::format("The youngest {}", kMostTrialRows) : "",
                 trial_table(in_));
    return page.html({.title = in_.info.name,
                      .status = fmt::format("<span class=\"pill {}\">{}</span>", in_.running ? "open" : "good",
                                            in_.running ? "running" : "ended"),
                      .facts = escape_html(in_.status),
                      .tiles = tiles()},
                     {{"curves", nlohmann::json::object()}, {"resumes", nlohmann::json::array()}});
  }

 private:
  static bool has_value(const Trial& trial) {
    return trial.state == TrialState::kComplete && !trial.values.empty() && std::isfinite(trial.values[0]);
  }
  double loss(const Trial& trial) const { return losses_of({trial.values[0]}, {directions_[0]})[0]; }
  Look look_of(const Trial& trial) const {
    const auto found = looks_.find(trial.number);
    return found != looks_.end() ? found->second : Look::kStopped;
  }
  std::string hint_of(const Trial& trial) const {
    std::string text = fmt::format("trial {}", trial.number);
    for (size_t i = 0; i < trial.values.size(); ++i)
      text += fmt::format(", {} {}", in_.info.objectives.at(i).metric, short_text(trial.values[i]));
    return text + "\n" + in_.space.text(current_parameters(trial));
  }

  void choose_drawn() {
    std::set<int64_t> numbers;
    for (size_t i = 0; i < std::min(ranked_.size(), kMostDrawn / 2); ++i) numbers.insert(ranked_[i]->number);
    for (auto trial = in_.trials.rbegin(); trial != in_.trials.rend() && numbers.size() < kMostDrawn; ++trial)
      numbers.insert(trial->number);
    for (const Trial& trial : in_.trials) {
      if (numbers.contains(trial.number)) drawn_.push_back(&trial);
    }
  }

  int64_t count(TrialState state) const {
    return std::count_if(in_.trials.begin(), in_.trials.end(), [&](const Trial& t) { return t.state == state; });
  }

  std::string tiles() const {
    double seconds = 0, cost = 0;
    for (const Trial& trial : in_.trials) {
      const TrialRun run = trial_run_of(trial.attributes);
      seconds += run.seconds;
      cost += run.cost;
    }
    std::string html;
    if (!ranked_.empty())
      html += tile_html({.label = "Best " + metric_,
                         .value = short_text(ranked_[0]->values[0]),
                         .detail = fmt::format("trial {}", ranked_[0]->number),
                         .kind = "lead"});
    html +=
        tile_html({.label = "Trials",
                   .value = count_text(static_cast<int64_t>(in_.trials.size())),
                   .detail = fmt::format("{} running, {} paused", count(TrialState::kRunning), count(TrialState::kPaused))});
    html += tile_html({.label = "Complete", .value = count_text(count(TrialState::kComplete))});
    html += tile_html({.label = "Stopped", .value = count_text(count(TrialState::kStopped)), .detail = "were not good enough"});
    html += tile_html({.label = "Failed", .value = count_text(count(TrialState::kFailed))});
    html +=
        tile_html({.label = "Time of training", .value = duration_text(seconds), .detail = "of all trials", .kind = "words"});
    if (in_.info.attributes.contains("currency"))
      html += tile_html(
          {.label = "Cost", .value = short_text(cost), .detail = in_.info.attributes.at("currency").get<std::string>()});
    return html;
  }

  std::string best_so_far() const {
    if (ranked_.empty()) return "";
    StudyPlot plot{.title = metric_, .note = "complete trials, and the best one so far", .wide = true};
    const double last = std::max<double>(1, static_cast<double>(in_.trials.back().number));
    StudyPlot::Line best{.look = Look::kGood};
    double least = INFINITY;
    for (const Trial& trial : in_.trials) {
      if (!has_value(trial)) continue;
      const double x = static_cast<double>(trial.number) / last;
      if (loss(trial) < least) {
        if (!best.points.empty()) best.points.emplace_back(x, best.points.back().second);
        least = loss(trial);
        best.points.emplace_back(x, trial.values[0]);
      }
    }
    best.points.emplace_back(1, best.points.back().second);
    for (const Trial* trial : drawn_) {
      if (has_value(*trial))
        plot.marks.push_back({static_cast<double>(trial->number) / last, trial->values[0], look_of(*trial), hint_of(*trial)});
    }
    plot.lines = {best};
    plot.ticks = whole_ticks(static_cast<int64_t>(last), "trial 0", "");
    return "<div class=\"curves\">" + plot_figure(plot) + "</div>";
  }

  std::string curves() const {
    int64_t last = 1;
    StudyPlot plot{.title = metric_, .note = "dashed: trials that are not complete", .wide = true};
    for (const Trial* trial : drawn_) {
      if (!trial->reports.empty()) last = std::max(last, trial->reports.back().step);
    }
    for (const Trial* trial : drawn_) {
      StudyPlot::Line line{.look = look_of(*trial), .hint = hint_of(*trial)};
      for (const Report& report : trial->reports)
        line.points.emplace_back(static_cast<double>(report.step) / static_cast<double>(last), report.value);
      if (line.points.size() == 1) plot.marks.push_back({line.points[0].first, line.points[0].second, line.look, line.hint});
      if (line.points.size() > 1) plot.lines.push_back(std::move(line));
    }
    if (plot.lines.empty() && plot.marks.empty()) return "";
    plot.ticks = whole_ticks(last, "0", " " + in_.unit);
    return "<div class=\"curves\">" + plot_figure(plot) + "</div>";
  }

  std::string parameters() const {
    if (ranked_.size() < 2) return "";
    const std::vector<double> importance = parameter_importance(in_.space, in_.trials, directions_[0]);
    std::string rows, plots;
    std::vector<ParallelAxis> axes;
    for (size_t i = 0; i < in_.space.parameters().size(); ++i) {
      const Parameter& parameter = in_.space.parameters()[i];
      const std::vector<StudyPlot::Tick> ticks = parameter_ticks(parameter);
      StudyPlot plot{.title = parameter.name, .note = "against " + metric_, .ticks = ticks};
      for (const Trial* trial : drawn_) {
        const auto value = trial->parameters.find(parameter.name);
        if (has_value(*trial) && value != trial->parameters.end())
          plot.marks.push_back({parameter.share_of(value->second), trial->values[0], look_of(*trial), hint_of(*trial)});
      }
      plots += plot_figure(plot);
      axes.push_back({parameter.name, ticks.front().text, ticks.back().text});
      if (!importance.empty())
        rows += fmt::format(
            "<tr><th scope=\"row\" data-value=\"{0}\">{0}</th><td class=\"bar\" data-value=\"{1:.4f}\"><span "
            "class=\"track\"><i "
            "style=\"width:{2:.1f}%\"></i></span><b>{1:.2f}</b></td></tr>",
            escape_html(parameter.name), importance[i], 100 * std::min(1.0, importance[i]));
    }
    std::string html;
    if (!rows.empty())
      html +=
          "<div class=\"card scroll\" style=\"margin-bottom:16px\"><table "
          "class=\"sortable\"><thead><tr><th>Parameter</th><th>Importance</th>"
          "</tr></thead><tbody>" +
          rows + "</tbody></table></div>";
    return html + "<div class=\"curves\">" + parallel(axes) + plots + "</div>";
  }

  std::string parallel(std::vector<ParallelAxis> axes) const {
    const auto [low, high] = std::minmax(ranked_.front()->values[0], ranked_.back()->values[0]);
    axes.push_back({metric_, short_text(low), short_text(high)});
    std::vector<ParallelLine> lines;
    for (const Trial* trial : drawn_) {
      if (!has_value(*trial)) continue;
      ParallelLine line{.look = look_of(*trial), .hint = hint_of(*trial)};
      for (const Parameter& parameter : in_.space.parameters()) {
        const auto value = trial->parameters.find(parameter.name);
        line.shares.push_back(value == trial->parameters.end() ? -1 : parameter.share_of(value->second));
      }
      line.shares.push_back(high > low ? (trial->values[0] - low) / (high - low) : 0.5);
      lines.push_back(std::move(line));
    }
    return parallel_figure(axes, lines);
  }

  std::string front() const {
    if (directions_.size() < 2) return "";
    const std::vector<size_t> members = pareto_front(in_.trials, directions_);
    if (members.empty()) return "";
    const std::set<size_t> on_front(members.begin(), members.end());
    const Objective &x = in_.info.objectives[1], &y = in_.info.objectives[0];
    double low = INFINITY, high = -INFINITY;
    for (const Trial* trial : drawn_) {
      if (!has_value(*trial) || !std::isfinite(trial->values.at(1))) continue;
      low = std::min(low, trial->values[1]);
      high = std::max(high, trial->values[1]);
    }
    StudyPlot plot{.title = fmt::format("{} against {}", y.metric, x.metric), .note = "green: the front", .wide = true};
    const auto share = [&](double value) { return high > low ? (value - low) / (high - low) : 0.5; };
    for (const Trial* trial : drawn_) {
      const auto index = static_cast<size_t>(trial - in_.trials.data());
      if (!has_value(*trial) || !std::isfinite(trial->values[1])) continue;
      plot.marks.push_back(
          {share(trial->values[1]), trial->values[0], on_front.contains(index) ? Look::kGood : Look::kUsual, hint_of(*trial)});
    }
    plot.ticks = {{0, short_text(low)}, {0.5, x.metric}, {1, short_text(high)}};
    return "<div class=\"curves\">" + plot_figure(plot) + "</div>" + front_table(in_, members);
  }

  std::string best_settings() const {
    if (ranked_.empty()) return "";
    std::string text;
    for (const std::string& line : in_.space.overrides(current_parameters(*ranked_[0]))) text += line + "\n";
    if (!in_.best_commands.empty()) text += "\n";
    for (const std::string& command : in_.best_commands) text += command + "\n";
    return fmt::format(
        "<details class=\"card config\" open><summary>Trial {}<button type=\"button\" "
        "id=\"copy-config\">Copy</button></summary><pre "
        "id=\"config-text\">{}</pre></details>",
        ranked_[0]->number, escape_html(text));
  }

  const StudyPageInput& in_;
  std::string metric_;
  std::vector<Direction> directions_;
  std::vector<const Trial*> ranked_;  // with a value, the best first
  std::vector<const Trial*> drawn_;   // by number
  std::map<int64_t, Look> looks_;
};

}  // namespace

std::string render_study_page(const StudyPageInput& input) {
  return StudyPage(input).html();
}

}  // namespace tessera
