#include "train/event_schedule.h"

#include <algorithm>

namespace tessera {
namespace {

// `every: 0ep` means never; anything else happens at least every step.
int64_t interval(const Duration& every, const EventSchedule::Length& length) {
  return every.value == 0 ? 0 : std::max<int64_t>(1, every.steps(length.steps_per_epoch, length.total));
}

}  // namespace

EventSchedule::EventSchedule(const Experiment& experiment, const Length& length, bool evaluates, bool measures)
    : length_(length),
      evaluates_(evaluates),
      measures_(measures),
      keeps_best_(experiment.checkpoint.keep_best),
      patience_(experiment.checkpoint.early_stop),
      eval_every_(interval(experiment.eval.every, length)),
      save_every_(interval(experiment.checkpoint.every, length)),
      log_every_(std::max<int64_t>(1, interval(experiment.run.log_every, length))) {}

bool EventSchedule::every(int64_t steps, const TrainState& state) const {
  return state.step > 0 && (state.step == length_.total || (steps > 0 && state.step % steps == 0));
}

bool EventSchedule::patience_is_over(const TrainState& state) const {
  return patience_ > 0 && state.evals_since_best >= patience_;
}

bool EventSchedule::finished(const TrainState& state) const {
  return state.step >= length_.last || patience_is_over(state);
}

bool EventSchedule::complete(const TrainState& state) const {
  return finished(state) && !save_due(state) && !evaluation_due(state);
}

bool EventSchedule::log_due(const TrainState& state) const {
  return state.step % log_every_ == 0 || state.step == length_.total || state.step == 1;
}

bool EventSchedule::statistics_due(const TrainState& state) const {
  return measures_ && measured_step_ != state.step && every(eval_every_, state);
}

bool EventSchedule::evaluation_due(const TrainState& state) const {
  const bool known = state.evaluated_step == state.step || evaluated_step_ == state.step;
  return evaluates_ && !known && (every(eval_every_, state) || finished(state));
}

bool EventSchedule::save_due(const TrainState& state) const {
  const bool new_best = keeps_best_ && state.best_step == state.step;
  return !is_saved(state) && (every(save_every_, state) || new_best || finished(state));
}

bool EventSchedule::any_due(const TrainState& state) const {
  return statistics_due(state) || save_due(state) || evaluation_due(state) || finished(state);
}

}  // namespace tessera
