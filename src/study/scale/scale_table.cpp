#include "study/scale/scale_table.h"

#include <algorithm>
#include <cmath>

#include "report/run_totals.h"

namespace tessera {
namespace {

constexpr double kHour_s = 3600;

using Group = std::vector<const ScaleOutcome*>;  // of one row, those that have figures

template <class Get>
std::vector<double> values_of(const Group& group, const Get& get) {
  std::vector<double> values;
  for (const ScaleOutcome* outcome : group) {
    const double value = get(*outcome->figures);
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

double smallest(const std::vector<double>& values) {
  return values.empty() ? kNoValue : *std::min_element(values.begin(), values.end());
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return values.empty() ? kNoValue : sum / static_cast<double>(values.size());
}

double deviation_of(const std::vector<double>& values) {
  if (values.size() < 2) return kNoValue;
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum / static_cast<double>(values.size() - 1));
}

void fill_metric(ScaleRow& row, const Group& group) {
  const std::vector<double> metrics = values_of(group, [](const RunFigures& run) { return run.last; });
  row.metric = mean_of(metrics);
  row.metric_sd = deviation_of(metrics);
  row.metric_low = smallest(metrics);
  row.metric_high = largest(metrics);
}

// Threads of one process share what a CPU process has in use.
double memory_of_rank(const ScaleRow& row, const Group& group) {
  const double all = largest(values_of(group, [](const RunFigures& run) { return run.memory_mb; }));
  const bool shared = row.mode == ParallelMode::kDp && !group.empty() && group.front()->figures->machine.device == "cpu";
  return shared ? all / static_cast<double>(row.ranks) : all;
}

void fill_row(ScaleRow& row, const Group& group) {
  const std::vector<double> epochs = values_of(group, [](const RunFigures& run) { return run.epoch_s; });
  row.epoch_s = median(epochs);
  row.epoch_s_low = smallest(epochs);
  row.epoch_s_high = largest(epochs);
  row.images_per_s = median(values_of(group, [](const RunFigures& run) { return run.images_per_s; }));
  row.hidden_share =
      row.ranks > 1 ? median(values_of(group, [](const RunFigures& run) { return run.hidden_share; })) : kNoValue;
  row.data_wait = median(values_of(group, [](const RunFigures& run) { return run.data_wait; }));
  row.train_s = median(values_of(group, [](const RunFigures& run) { return run.train_s; }));
  row.memory_mb = memory_of_rank(row, group);
  fill_metric(row, group);
}

// Against the fewest ranks of the same model and mode.
void compare(ScaleRow& row, const ScaleRow& base, const Group& group, const Group& base_group) {
  row.speed_up = row.images_per_s / base.images_per_s;
  row.ideal = static_cast<double>(row.ranks) / static_cast<double>(base.ranks);
  row.efficiency = row.speed_up / row.ideal;
  if (row.ranks == base.ranks) return;
  std::vector<double> changes;
  for (const ScaleOutcome* outcome : group) {
    for (const ScaleOutcome* other : base_group) {
      if (other->cell.repeat == outcome->cell.repeat)
        changes.push_back(std::abs(outcome->figures->last - other->figures->last));
    }
  }
  row.metric_change = largest(changes);
}

void fill_target(ScaleRow& row, const Group& group, double target, const std::optional<double>& price) {
  row.epochs_to_target = median(values_of(group, [&](const RunFigures& run) { return epoch_of(run, target); }));
  row.seconds_to_target = row.epochs_to_target * row.epoch_s;
  if (!price) return;
  const double per_second = *price * static_cast<double>(row.ranks) / kHour_s;
  row.cost_per_epoch = row.epoch_s * per_second;
  row.cost_to_target = row.seconds_to_target * per_second;
}

bool same_curve(const ScaleRow& one, const ScaleRow& other) {
  return one.model == other.model && one.mode == other.mode;
}

}  // namespace

ScaleTable scale_table(const std::vector<ScaleOutcome>& outcomes, std::optional<double> target,
                       const std::optional<Prices>& prices) {
  ScaleTable table;
  std::vector<Group> groups;
  double reached_by_all = kNoValue;
  for (const ScaleOutcome& outcome : outcomes) {
    auto row = std::find_if(table.rows.begin(), table.rows.end(), [&](const ScaleRow& other) {
      return other.model == outcome.cell.model && other.mode == outcome.cell.mode && other.ranks == outcome.cell.ranks;
    });
    if (row == table.rows.end()) {
      table.rows.push_back({.model = outcome.cell.model,
                            .mode = outcome.cell.mode,
                            .ranks = outcome.cell.ranks,
                            .batch_size = outcome.batch_size});
      groups.emplace_back();
      row = table.rows.end() - 1;
    }
    row->complete += outcome.state == TrialState::kComplete ? 1 : 0;
    row->failed += outcome.state == TrialState::kFailed ? 1 : 0;
    row->unfinished += is_finished(outcome.state) ? 0 : 1;
    if (outcome.state != TrialState::kComplete || !outcome.figures) continue;
    groups[static_cast<size_t>(row - table.rows.begin())].push_back(&outcome);
    const RunFigures& run = *outcome.figures;
    reached_by_all = smallest(std::isfinite(reached_by_all) ? std::vector{reached_by_all, run.best} : std::vector{run.best});
    table.metric = run.metric;
    table.device = run.machine.device;
    table.machine = run.machine.machine;
    table.commit = run.machine.commit;
  }
  table.target = target.value_or(reached_by_all);
  const std::optional<double> price = prices ? price_of(*prices, table.device) : std::nullopt;
  if (price) table.currency = prices->currency;
  for (size_t i = 0; i < table.rows.size(); ++i) fill_row(table.rows[i], groups[i]);
  for (size_t i = 0; i < table.rows.size(); ++i) {
    size_t base = i;
    for (size_t j = 0; j < table.rows.size(); ++j) {
      if (same_curve(table.rows[j], table.rows[i]) && !groups[j].empty() && table.rows[j].ranks < table.rows[base].ranks)
        base = j;
    }
    if (groups[i].empty()) continue;
    compare(table.rows[i], table.rows[base], groups[i], groups[base]);
    fill_target(table.rows[i], groups[i], table.target, price);
  }
  return table;
}

std::string curve_label(const ScaleTable& table, const ScaleRow& row) {
  const auto differs = [&](const auto& get) {
    return std::any_of(table.rows.begin(), table.rows.end(), [&](const ScaleRow& other) { return get(other) != get(row); });
  };
  std::string label;
  if (differs([](const ScaleRow& r) { return r.model; })) label = row.model;
  if (label.empty() || differs([](const ScaleRow& r) { return r.mode; }))
    label += (label.empty() ? "" : " ") + std::string(name_of(row.mode));
  return label;
}

}  // namespace tessera
