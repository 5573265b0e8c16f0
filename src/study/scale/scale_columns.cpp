#include "study/scale/scale_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "report/number_text.h"

namespace tessera {

const std::vector<ScaleColumn>& scale_columns() {
  using Look = ScaleColumn::Look;
  static const std::vector<ScaleColumn> columns{
      {"epoch_s", "epoch s", "seconds of training per epoch, median over the repeats", &ScaleRow::epoch_s, Look::kSeconds},
      {"epoch_s_low", nullptr, "", &ScaleRow::epoch_s_low, Look::kSeconds},
      {"epoch_s_high", nullptr, "", &ScaleRow::epoch_s_high, Look::kSeconds},
      {"images_per_s", "img/s", "images a second over all ranks", &ScaleRow::images_per_s, Look::kNumber},
      {"speed_up", "speed-up", "images a second against the fewest ranks of this row's model and mode", &ScaleRow::speed_up,
       Look::kNumber},
      {"ideal", "ideal", "what as many times the ranks would give", &ScaleRow::ideal, Look::kNumber},
      {"efficiency", "efficiency", "speed-up over ideal", &ScaleRow::efficiency, Look::kShare},
      {"hidden_share", "hidden", "share of the exchange of gradients that lies behind the backward pass (CPUs)",
       &ScaleRow::hidden_share, Look::kShare},
      {"data_wait", "data wait", "share of the time spent waiting for data", &ScaleRow::data_wait, Look::kShare},
      {"memory_mb", "MB/rank", "most memory of a rank: of its GPU, on CPUs of its process", &ScaleRow::memory_mb,
       Look::kMemory},
      {"metric", "metric", "at the end of the training, mean over the repeats", &ScaleRow::metric, Look::kMetric},
      {"metric_sd", "+-", "standard deviation over the repeats", &ScaleRow::metric_sd, Look::kMetric},
      {"metric_low", nullptr, "", &ScaleRow::metric_low, Look::kMetric},
      {"metric_high", nullptr, "", &ScaleRow::metric_high, Look::kMetric},
      {"metric_change", "change", "largest difference to the fewest ranks with the same seed", &ScaleRow::metric_change,
       Look::kMetric},
      {"train_s", "total s", "seconds of training, evaluations left out", &ScaleRow::train_s, Look::kSeconds},
      {"epochs_to_target", "epochs to target", "first epoch whose metric reached the target", &ScaleRow::epochs_to_target,
       Look::kNumber},
      {"seconds_to_target", "s to target", "seconds of training until then", &ScaleRow::seconds_to_target, Look::kSeconds},
      {"cost_per_epoch", "cost/epoch", "price of the ranks' devices for an epoch", &ScaleRow::cost_per_epoch, Look::kNumber},
      {"cost_to_target", "cost to target", "price of the training until the target", &ScaleRow::cost_to_target, Look::kNumber},
  };
  return columns;
}

std::vector<ScaleColumn> shown_columns(const ScaleTable& table) {
  std::vector<ScaleColumn> shown;
  for (const ScaleColumn& column : scale_columns()) {
    const auto known = [&](const ScaleRow& row) { return std::isfinite(row.*column.value); };
    if (column.title != nullptr && std::any_of(table.rows.begin(), table.rows.end(), known)) shown.push_back(column);
  }
  return shown;
}

std::string cell_text(const ScaleColumn& column, const ScaleRow& row) {
  using Look = ScaleColumn::Look;
  const double value = row.*column.value;
  if (!std::isfinite(value)) return "–";
  switch (column.look) {
    case Look::kShare: return fmt::format("{:.1f} %", 100 * value);
    case Look::kMetric: return fmt::format("{:.4f}", value);
    case Look::kMemory: return count_text(std::llround(value));
    case Look::kSeconds: return value >= 100 ? count_text(std::llround(value)) : fmt::format("{:.3g}", value);
    case Look::kNumber: break;
  }
  return fmt::format("{:.3g}", value);
}

}  // namespace tessera
