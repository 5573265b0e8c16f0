#include <fmt/format.h>

#include <algorithm>

#include "core/clock.h"
#include "study/controller/controller.h"
#include "study/schedule/copies.h"

// When a study ends, by its budgets or by a wish, and what it has come to.
namespace tessera {

void Controller::stop_trials() {
  stopping_ = holding_ = true;
  for (auto& [number, live] : live_) {
    if (!live.run.idle) executor_.stop(job_of(live));
  }
}

std::string Controller::used_up() {
  const BudgetSettings& budget = plan_.settings.budget;
  if (out_of_time()) return plan_.time_s > 0 && seconds() >= plan_.time_s ? "its time is used up" : "its money is used up";
  if (budget.patience > 0 && counts_.best >= 0) {
    const auto after = ended_.end() - std::upper_bound(ended_.begin(), ended_.end(), counts_.best);
    if (after >= budget.patience) return fmt::format("nothing better came in {} trials", after);
  }
  return "";
}

bool Controller::out_of_time() const {
  return (plan_.time_s > 0 && seconds() >= plan_.time_s) ||
         (plan_.settings.budget.cost > 0 && cost() >= plan_.settings.budget.cost);
}

double Controller::seconds() const {
  return seconds_before_ + monotonic_s() - begun_;
}

double Controller::cost() const {
  double spent = spent_;
  for (const auto& [number, live] : live_) {
    if (!live.run.idle && !live.queued)
      spent += std::max(0.0, unix_s() - live.run.started) * live.price.value_or(prices_.usual_per_second());
  }
  return spent;
}

StudyEnd Controller::finish(StudyWish wish) {
  StudyEnd end;
  const std::string used = used_up();
  const auto waiting = std::count_if(live_.begin(), live_.end(), [](const auto& entry) { return entry.second.run.idle; });
  if (wish == StudyWish::kLeave) {
    end.text = fmt::format("left; {} trials run on, and the same command finds them again", live_.size());
  } else if (out_of_time()) {
    end.text = used + (live_.empty() && paused_.empty() ? "" : "; with a larger budget its trials go on");
    end.complete = true;
  } else if (wish != StudyWish::kNone || waiting > 0) {
    end.text = fmt::format("stopped; {} trials wait to go on with the same command", live_.size() + paused_.size());
  } else {
    const int64_t budget = plan_.settings.budget.trials;
    end.text = !used.empty() ? used : exhausted_ ? "the search has no more" : fmt::format("all {} trials are done", budget);
    end.complete = true;
    while (!paused_.empty()) {
      Live live = make_live(take_up(paused_.begin()->first));
      Live& kept = live_.emplace(live.trial.number, std::move(live)).first->second;
      this->end(kept, TrialState::kStopped, "it was not among the best when the study ended");
    }
  }
  nlohmann::json attributes = store_.info().attributes;
  attributes[kSeconds] = seconds();
  attributes["end"] = end.text;
  store_.set_attributes(attributes);
  if (options_.show) options_.show(view());
  return end;
}

StudyView Controller::view() const {
  StudyView view{.name = plan_.settings.name,
                 .unit = plan_.settings.unit == StepUnit::kEpochs ? "ep" : "ba",
                 .metric = plan_.objectives[0].metric,
                 .best_parameters = best_parameters_,
                 .counts = counts_,
                 .trials = plan_.settings.budget.trials,
                 .seconds = seconds(),
                 .cost = cost(),
                 .currency = plan_.prices ? plan_.prices->currency : "",
                 .at_once = slots_.most_at_once()};
  view.counts.all = next_;
  view.counts.running = static_cast<int64_t>(live_.size());
  view.counts.paused = static_cast<int64_t>(paused_.size());
  if (plan_.time_s > 0) view.seconds_left = std::max(0.0, plan_.time_s - view.seconds);
  if (plan_.settings.budget.cost > 0) view.cost_left = std::max(0.0, plan_.settings.budget.cost - view.cost);
  for (const auto& [number, live] : live_) {
    StudyView::Running row{.number = number,
                           .parameters = plan_.space.text(current_parameters(live.trial)),
                           .until = live.run.until,
                           .seconds = live.run.seconds + (live.run.idle ? 0 : std::max(0.0, unix_s() - live.run.started)),
                           .gpus = live.run.gpus,
                           .waits = live.run.idle || live.queued};
    if (!live.trial.reports.empty()) {
      row.step = live.trial.reports.back().step;
      row.value = live.trial.reports.back().value;
    }
    if (live.log.total_steps() > 0)
      row.done = static_cast<double>(live.log.step()) / static_cast<double>(live.log.total_steps());
    view.running.push_back(std::move(row));
  }
  return view;
}

}  // namespace tessera
