// scale_text and scale_csv, and scale_json.
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "study/scale/scale_columns.h"
#include "study/scale/scale_files.h"
#include "study/trial.h"

namespace tessera {
namespace {

using nlohmann::json;

json number(double value) {
  return std::isfinite(value) ? json(value) : json();
}

size_t width_of(const std::string& text) {  // in characters
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? "\"\"" : std::string(1, c);
  return quoted + "\"";
}

bool any_model(const ScaleTable& table) {
  return std::any_of(table.rows.begin(), table.rows.end(), [](const ScaleRow& row) { return !row.model.empty(); });
}

}  // namespace

std::string scale_text(const ScaleTable& table) {
  const std::vector<ScaleColumn> columns = shown_columns(table);
  std::vector<std::vector<std::string>> lines{{"mode", "ranks", "batch"}};
  if (any_model(table)) lines[0].insert(lines[0].begin(), "model");
  for (const ScaleColumn& column : columns)
    lines[0].push_back(std::string(column.key) == "metric" ? table.metric : std::string(column.title));
  lines[0].emplace_back("trainings");
  for (const ScaleRow& row : table.rows) {
    auto& line = lines.emplace_back();
    if (any_model(table)) line.push_back(row.model.empty() ? "–" : row.model);
    line.insert(line.end(), {std::string(name_of(row.mode)), std::to_string(row.ranks), std::to_string(row.batch_size)});
    for (const ScaleColumn& column : columns) line.push_back(cell_text(column, row));
    std::string trainings = std::to_string(row.complete);
    if (row.failed > 0) trainings += fmt::format(", {} failed", row.failed);
    if (row.unfinished > 0) trainings += fmt::format(", {} to come", row.unfinished);
    line.push_back(trainings);
  }
  std::vector<size_t> widths(lines[0].size(), 0);
  for (const auto& line : lines) {
    for (size_t i = 0; i < line.size(); ++i) widths[i] = std::max(widths[i], width_of(line[i]));
  }
  std::string text;
  for (const auto& line : lines) {
    std::string shown;
    for (size_t i = 0; i < line.size(); ++i) {
      const std::string room(widths[i] - width_of(line[i]), ' ');
      const bool left = i == 0 || i + 1 == line.size();
      shown += (i > 0 ? "  " : "") + (left ? line[i] + (i == 0 ? room : "") : room + line[i]);
    }
    text += shown + "\n";
  }
  std::vector<std::string> notes;
  if (std::isfinite(table.target)) notes.push_back(fmt::format("target: {} {:.4f}", table.metric, table.target));
  if (!table.currency.empty()) notes.push_back("costs in " + table.currency);
  return notes.empty() ? text : text + fmt::format("{}\n", fmt::join(notes, "; "));
}

std::string scale_csv(const ScaleTable& table) {
  std::string text = "model,mode,ranks,batch_size,complete,failed,unfinished";
  for (const ScaleColumn& column : scale_columns()) text += std::string(",") + column.key;
  text += "\n";
  for (const ScaleRow& row : table.rows) {
    text += fmt::format("{},{},{},{},{},{},{}", csv_field(row.model), name_of(row.mode), row.ranks, row.batch_size,
                        row.complete, row.failed, row.unfinished);
    for (const ScaleColumn& column : scale_columns()) {
      const double value = row.*column.value;
      text += std::isfinite(value) ? fmt::format(",{}", value) : ",";
    }
    text += "\n";
  }
  return text;
}

nlohmann::json scale_json(const ScaleTable& table, const std::vector<ScaleOutcome>& outcomes, const ScaleConfig& config) {
  json rows = json::array(), trainings = json::array();
  for (const ScaleRow& row : table.rows) {
    json& line = rows.emplace_back(json{{"model", row.model},
                                        {"mode", name_of(row.mode)},
                                        {"ranks", row.ranks},
                                        {"batch_size", row.batch_size},
                                        {"complete", row.complete},
                                        {"failed", row.failed},
                                        {"unfinished", row.unfinished}});
    for (const ScaleColumn& column : scale_columns()) line[column.key] = number(row.*column.value);
  }
  for (const ScaleOutcome& outcome : outcomes) {
    json& line = trainings.emplace_back(json{{"name", cell_name(outcome.cell)},
                                             {"model", outcome.cell.model},
                                             {"mode", name_of(outcome.cell.mode)},
                                             {"ranks", outcome.cell.ranks},
                                             {"repeat", outcome.cell.repeat},
                                             {"batch_size", outcome.batch_size},
                                             {"state", name_of(outcome.state)},
                                             {"reason", outcome.reason},
                                             {"run", outcome.run}});
    if (!outcome.figures) continue;
    const RunFigures& run = *outcome.figures;
    line["steps"] = run.steps;
    line["parameters"] = run.parameters;
    line["images_per_s"] = number(run.images_per_s);
    line["epoch_s"] = number(run.epoch_s);
    line["train_s"] = number(run.train_s);
    line["hidden_share"] = number(run.hidden_share);
    line["memory_mb"] = number(run.memory_mb);
    line["metric"] = number(run.last);
    line["best_metric"] = number(run.best);
    line["curve"] = json::array();
    for (const auto& [epoch, value] : run.metric_by_epoch) line["curve"].push_back({number(epoch), number(value)});
  }
  return {{"name", config.name},
          {"config", config.config},
          {"scaling", name_of(config.scaling)},
          {"repeat", config.repeat},
          {"metric", table.metric},
          {"target", number(table.target)},
          {"currency", table.currency},
          {"device", table.device},
          {"machine", table.machine},
          {"commit", table.commit},
          {"rows", rows},
          {"trainings", trainings}};
}

}  // namespace tessera
