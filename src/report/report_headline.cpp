#include "report/report_headline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/json_text.h"
#include "core/plural.h"
#include "report/html.h"
#include "report/number_text.h"
#include "report/page.h"
#include "report/report_curves.h"
#include "report/run_totals.h"

namespace tessera {
namespace {

std::string text_of(const nlohmann::json& object, const char* key) {
  if (!object.is_object() || !object.contains(key)) return "";
  const nlohmann::json& value = object.at(key);
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

// The metric that the best checkpoint is chosen by: mean IoU unless the run says otherwise.
Tile score_tile(const RunHistory& history) {
  const std::string& metric = history.best_metric;
  std::string label = metric_label(metric);
  label[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(label[0])));
  Tile tile{.label = label, .value = "–", .detail = "no evaluation yet", .kind = "lead"};
  if (history.eval.empty()) return tile;
  const EvalPoint& last = history.eval.back();
  tile.value = percent_text(last.metric(metric));
  tile.unit = tile.value == "–" ? "" : "%";
  tile.detail = "at step " + count_text(last.step);
  const EvalPoint* best = best_eval(history);
  if (best == nullptr) return tile;
  tile.detail += best->step == last.step
                     ? ", the best"
                     : fmt::format("; best {} at {}", percent_text(best->metric(metric)), count_text(best->step));
  return tile;
}

Tile accuracy_tile(const RunHistory& history) {
  Tile tile{.label = "Pixel accuracy", .value = "–"};
  if (history.eval.empty()) return tile;
  tile.value = percent_text(history.eval.back().metric("pixel_accuracy"));
  tile.unit = tile.value == "–" ? "" : "%";
  const double mean = history.eval.back().metric("mean_accuracy");
  if (std::isfinite(mean)) tile.detail = fmt::format("class mean {}", percent_unit_text(mean));
  return tile;
}

Tile progress_tile(const RunHistory& history) {
  Tile tile{.label = "Steps", .value = "0", .detail = "no training lines yet"};
  if (history.train.empty()) return tile;
  tile.value = count_text(history.train.back().step);
  const double epoch = history.train.back().epoch;
  tile.detail = std::isfinite(epoch) ? fmt::format("{:.4g} {}", epoch, epoch == 1 ? "epoch" : "epochs") : "";
  return tile;
}

Tile duration_tile(const RunHistory& history) {
  Tile tile{.label = "Duration", .value = duration_text(history.active_seconds > 0 ? history.active_seconds : kNoValue)};
  const auto resumes =
      std::count_if(history.events.begin(), history.events.end(), [](const RunEvent& e) { return e.type == "resume"; });
  if (resumes > 0) tile.detail = fmt::format("{} {}", resumes, plural(resumes, "resume"));
  return tile;
}

Tile speed_tile(const RunHistory& history) {
  Tile tile{.label = "Images per second", .value = short_text(median(column(history, &TrainPoint::images_per_s)))};
  const double wait = median(column(history, &TrainPoint::data_wait));
  if (std::isfinite(wait)) tile.detail = fmt::format("median; {} waiting for data", percent_unit_text(wait, 1));
  return tile;
}

Tile device_tile(const ReportInput& input) {
  Tile tile{.label = "Device", .value = text_of(input.environment, "device"), .kind = "words"};
  if (tile.value.empty()) tile.value = "–";
  const double peak = largest(column(input.history, &TrainPoint::memory_mb));
  if (std::isfinite(peak)) tile.detail = fmt::format("{:.1f} GiB at the peak", peak / 1024);
  return tile;
}

}  // namespace

std::string headline_status(const ReportInput& input) {
  const std::string status = run_status(input.history);
  const char* kind = "open";
  if (status == "done" || status == "completed" || status == "finished") kind = "good";
  if (status == "failed" || status == "error" || status == "diverged" || status == "out of memory") kind = "bad";
  return fmt::format("<span class=\"pill {}\">{}</span>", kind, escape_html(status));
}

std::string headline_facts(const ReportInput& input) {
  std::string facts = text_of(input.model, "name");
  const auto add = [&facts](const std::string& fact) { facts += (facts.empty() ? "" : " · ") + fact; };
  if (input.model.is_object() && input.model.contains("parameters") && input.model["parameters"].is_number()) {
    add(large_text(input.model["parameters"].get<double>()) + " parameters");
  }
  if (!input.class_names.empty()) add(count_text(static_cast<int64_t>(input.class_names.size())) + " classes");
  if (!input.history.events.empty() && std::isfinite(input.history.events.front().time)) {
    add("begun " + time_text(input.history.events.front().time));
  }
  return escape_html(facts);
}

std::string headline_tiles(const ReportInput& input) {
  const RunHistory& history = input.history;
  return tile_html(score_tile(history)) + tile_html(accuracy_tile(history)) + tile_html(speed_tile(history)) +
         tile_html(duration_tile(history)) + tile_html(progress_tile(history)) + tile_html(device_tile(input));
}

}  // namespace tessera
