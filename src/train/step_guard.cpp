#include "train/step_guard.h"

#include <ATen/ATen.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/json_text.h"
#include "core/plural.h"
#include "core/printable.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

constexpr size_t kMostLosses = 100, kLeastLosses = 20;
constexpr size_t kMostNames = 8;

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A NaN's sign means nothing.
std::string number_text(double value) {
  return std::isnan(value) ? "nan" : fmt::format("{:.4g}", value);
}

std::string names_text(const std::vector<std::string>& names) {
  const std::vector<std::string> shown(names.begin(),
                                       names.begin() + static_cast<std::ptrdiff_t>(std::min(names.size(), kMostNames)));
  const std::string more = names.size() > kMostNames ? fmt::format(" and {} more", names.size() - kMostNames) : "";
  return fmt::format("{}{}", fmt::join(shown, ", "), more);
}

std::vector<std::string> names_of(const Dataset& data, const Batch& batch, const std::vector<int64_t>& rows) {
  std::vector<std::string> names;
  for (const int64_t row : rows) names.push_back(printable(data.id(batch.indices.at(static_cast<size_t>(row)))));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

int64_t own_samples(TrainStep& step) {
  return static_cast<int64_t>(step.slice().positions.size());
}

std::vector<int64_t> all_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) rows[static_cast<size_t>(i)] = i;
  return rows;
}

}  // namespace

StepGuard::StepGuard(const GuardConfig& config, TrainStep& step, World& world, const Dataset& names, int late)
    : config_(config), step_(step), world_(world), names_(names), late_(static_cast<size_t>(late)) {}

void StepGuard::watch(const Batch& batch, const Progress& at, const StepResult& result) {
  const at::NoGradGuard no_grad;
  constexpr int64_t kHeld = 5;  // LossScaling::held
  const auto download = [&] {
    const at::Tensor held = step_.scaler().numbers()[kHeld];
    return Download({at::stack({result.loss.to(at::kDouble), result.grad_norm.to(at::kDouble), held})});
  };
  watched_.push_back({batch, at, make_with_kept_memory(download)});
  if (at.step == repeat_end_) step_.compute_in_fp32(false);
}

std::optional<StepGuard::Held> StepGuard::next_held(bool all, std::vector<GuardEvent>& spikes) {
  while (watched_.size() > (all ? 0 : late_)) {
    Watched first = std::move(watched_.front());
    watched_.pop_front();
    const at::Tensor numbers = first.numbers.wait()[0];
    const auto* const value = numbers.const_data_ptr<double>();
    Held step{std::move(first.batch), first.at, value[0], value[1]};
    if (value[2] != 0) return step;
    if (stands_out(step.loss)) {
      GuardEvent spike{.step = step.at.step + 1, .action = "spike", .loss = step.loss, .grad_norm = step.grad_norm};
      spike.samples = names_of(names_, step.batch, all_rows(own_samples(step_)));
      spike.text =
          fmt::format("the loss of step {} is {:.4g}, {:.4g} is usual; its samples{}: {}", spike.step, spike.loss,
                      median({losses_.begin(), losses_.end()}), world_.alone() ? "" : " on rank 0", names_text(spike.samples));
      spikes.push_back(std::move(spike));
    }
  }
  return std::nullopt;
}

// Once for each time that the loss rises: while it stays up nothing more is said.
bool StepGuard::stands_out(double loss) {
  constexpr double kNormal = 1.4826;  // of a normal distribution, the standard deviation in MADs
  constexpr double kLeastSpread = 0.01;
  bool high = false;
  if (config_.spike > 0 && losses_.size() >= kLeastLosses) {
    const std::vector<double> before(losses_.begin(), losses_.end());
    const double usual = median(before);
    std::vector<double> distances;
    for (const double value : before) distances.push_back(std::abs(value - usual));
    const double spread = std::max(kNormal * median(std::move(distances)), kLeastSpread * std::abs(usual));
    high = loss > usual + config_.spike * spread;
  }
  losses_.push_back(loss);
  if (losses_.size() > kMostLosses) losses_.pop_front();
  const bool rises = high && !high_;
  high_ = high;
  return rises;
}

GuardEvent StepGuard::find_cause(const Held& held) {
  const NonFiniteCause own = step_.find_nonfinite(held.batch, held.at);
  const std::vector<int64_t> rows = own.rows.empty() ? all_rows(own_samples(step_)) : own.rows;
  const nlohmann::json told{{"order", own.order}, {"place", own.place}, {"samples", names_of(names_, held.batch, rows)}};
  int64_t least = kNoCause;
  std::vector<nlohmann::json> ranks;
  for (const std::string& text : world_.control.gather_text(json_text(told))) {
    ranks.push_back(nlohmann::json::parse(text));
    least = std::min(least, ranks.back().at("order").get<int64_t>());
  }
  GuardEvent event{.step = held.at.step + 1, .loss = held.loss, .grad_norm = held.grad_norm};
  std::vector<std::string> where;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (ranks[rank].at("order").get<int64_t>() != least) continue;
    event.place = ranks[rank].at("place").get<std::string>();
    const auto samples = ranks[rank].at("samples").get<std::vector<std::string>>();
    event.samples.insert(event.samples.end(), samples.begin(), samples.end());
    where.push_back(std::to_string(rank));
  }
  const std::string on =
      world_.alone() || where.size() == ranks.size()
          ? ""
          : fmt::format(" on {} {}", plural(static_cast<int64_t>(where.size()), "rank"), fmt::join(where, ", "));
  event.text = fmt::format("step {} is not finite (loss {}, gradient {}): {}{}; {}: {}", event.step, number_text(event.loss),
                           number_text(event.grad_norm), event.place, on,
                           plural(static_cast<int64_t>(event.samples.size()), "sample"), names_text(event.samples));
  return event;
}

void StepGuard::leave_out(const Held& held) {
  step_.scaler().release();
  if (held.at.step == repeat_end_) step_.compute_in_fp32(false);
  std::deque<Watched> later;
  std::swap(later, watched_);
  for (const Watched& step : later) watch(step.batch, step.at, step_.run(step.batch, step.at));
}

bool StepGuard::keep_due(const TrainState& state) const {
  if (config_.nonfinite != NonFinitePolicy::kRollback || state.step <= repeat_end_) return false;
  return !kept_ || state.step - kept_->state().step >= config_.keep;
}

void StepGuard::keep(const TrainState& state) {
  if (config_.nonfinite != NonFinitePolicy::kRollback) return;
  if (!kept_ || kept_->state().step != state.step) kept_.emplace(step_, state);
}

TrainState StepGuard::go_back(const Held& held) {
  watched_.clear();
  losses_.clear();
  const double lost = step_.scaler().read().skipped_steps + 1;
  kept_->put_back(step_);
  LossScaling numbers = step_.scaler().read();
  numbers.skipped_steps = lost;
  step_.scaler().restore(numbers);
  repeat_end_ = held.at.step;
  step_.compute_in_fp32(true);
  return kept_->state();
}

}  // namespace tessera
