#include "report/run_history.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "core/files.h"

namespace tessera {
namespace {

using nlohmann::json;

// Lenient readers: a field of another kind counts as absent, since one odd line must not cost the report.
double number(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<double>() : kNoValue;
}

int64_t integer(const json& line, const char* key, int64_t otherwise) {
  const auto found = line.find(key);
  return found != line.end() && found->is_number() ? found->get<int64_t>() : otherwise;
}

std::string text(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

const json& list(const json& line, const char* key) {
  static const json empty = json::array();
  const auto found = line.find(key);
  return found != line.end() && found->is_array() ? *found : empty;
}

TrainPoint read_train(const json& line) {
  return {.step = integer(line, "step", 0),
          .epoch = number(line, "epoch"),
          .loss = number(line, "loss"),
          .lr = number(line, "lr"),
          .grad_norm = number(line, "grad_norm"),
          .images_per_s = number(line, "images_per_s"),
          .data_wait = number(line, "data_wait"),
          .memory_mb = number(line, "memory_mb"),
          .exchange_ms = number(line, "exchange_ms"),
          .exchange_wait_ms = number(line, "exchange_wait_ms")};
}

// Empty unless it is a square table of counts.
std::vector<std::vector<int64_t>> read_confusion(const json& rows) {
  std::vector<std::vector<int64_t>> matrix;
  for (const json& row : rows) {
    if (!row.is_array() || row.size() != rows.size()) return {};
    auto& counts = matrix.emplace_back();
    for (const json& count : row) {
      if (!count.is_number()) return {};
      counts.push_back(count.get<int64_t>());
    }
  }
  return matrix;
}

ClassEntry read_class(const json& entry) {
  ClassEntry found{.name = text(entry, "name"),
                   .iou = number(entry, "iou"),
                   .accuracy = number(entry, "accuracy"),
                   .dice = number(entry, "dice"),
                   .pixels = integer(entry, "pixels", 0),
                   .precision = number(entry, "precision"),
                   .boundary_iou = number(entry, "boundary_iou")};
  if (const auto objects = entry.find("objects"); objects != entry.end() && objects->is_object()) {
    found.objects = ObjectEntry{.labelled = integer(*objects, "labelled", 0),
                                .predicted = integer(*objects, "predicted", 0),
                                .matched = integer(*objects, "matched", 0),
                                .precision = number(entry, "object_precision"),
                                .recall = number(entry, "object_recall"),
                                .f1 = number(entry, "object_f1"),
                                .segmentation_quality = number(entry, "segmentation_quality"),
                                .panoptic_quality = number(entry, "panoptic_quality")};
  }
  return found;
}

void go_back_to(int64_t step, RunHistory& history) {
  const auto beyond = [step](const auto& point) { return point.step > step; };
  history.superseded_lines += static_cast<int64_t>(std::erase_if(history.train, beyond));
  history.superseded_lines += static_cast<int64_t>(std::erase_if(history.eval, beyond));
  for (RunEvent& event : history.events) event.superseded = event.superseded || beyond(event);
}

// False when it is no line of a run log.
bool add_line(std::string_view raw, RunHistory& history, double& last_time) {
  json line = json::parse(raw, nullptr, false);
  if (!line.is_object()) return false;
  const std::string type = text(line, "type");
  if (type.empty()) return false;

  const double time = number(line, "time");
  const bool begins_session = type == "start" || type == "resume";
  if (!begins_session && time > last_time) history.active_seconds += time - last_time;
  if (time == time) last_time = time;

  if (type == "train") {
    history.train.push_back(read_train(line));
  } else if (type == "eval") {
    history.eval.push_back(eval_point(line));
  } else if (type == "bad_sample") {
    history.bad_samples.push_back({text(line, "id"), text(line, "reason"), text(line, "replaced_by")});
  } else {
    if (const std::string best = text(line, "best_metric"); !best.empty()) history.best_metric = best;
    const int64_t step = integer(line, "step", -1);
    if (type == "resume" && step >= 0) go_back_to(step, history);
    if (const int64_t back = integer(line, "back_to", -1); type == "guard" && back >= 0) go_back_to(back, history);
    history.events.push_back({.type = type, .time = time, .step = step, .fields = std::move(line)});
  }
  return true;
}

}  // namespace

EvalPoint eval_point(const json& line) {
  EvalPoint point;
  point.step = integer(line, "step", 0);
  point.epoch = number(line, "epoch");
  if (const auto metrics = line.find("metrics"); metrics != line.end() && metrics->is_object()) {
    for (const auto& [name, value] : metrics->items()) {
      point.metrics[name] = value.is_number() ? value.get<double>() : kNoValue;
    }
  }
  for (const json& entry : list(line, "per_class")) {
    if (!entry.is_object()) continue;
    point.per_class.push_back(read_class(entry));
    for (const auto& [name, value] : entry.items()) {
      if (value.is_number()) point.class_metrics[name + "/" + point.per_class.back().name] = value.get<double>();
    }
  }
  point.confusion = read_confusion(list(line, "confusion"));
  return point;
}

double EvalPoint::metric(const std::string& name) const {
  const auto& values = name.find('/') == std::string::npos ? metrics : class_metrics;
  const auto found = values.find(name);
  return found != values.end() ? found->second : kNoValue;
}

RunHistory read_run_log(const std::filesystem::path& path) {
  const std::string content = read_text(path);
  RunHistory history;
  double last_time = kNoValue;  // comparisons with NaN are false: the first line adds no time
  for (size_t begin = 0; begin < content.size();) {
    const size_t end = std::min(content.find('\n', begin), content.size());
    const std::string_view line(content.data() + begin, end - begin);
    if (!line.empty() && !add_line(line, history, last_time)) ++history.torn_lines;
    begin = end + 1;
  }
  return history;
}

}  // namespace tessera
