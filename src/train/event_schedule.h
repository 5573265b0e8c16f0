#pragma once
#include <cstdint>

#include "config/experiment.h"
#include "core/progress.h"
#include "infer/checkpoint/checkpoint.h"

namespace tessera {

// Which of the events of Note [Order of events] are due where a run stands. It is told what has happened at a step, so that
// nothing happens there twice.
class EventSchedule {
 public:
  struct Length {
    int64_t steps_per_epoch = 1, total = 1;
    int64_t last = 1;  // step of this call: total, or before it where Note [Stop at a step] says so
  };
  // evaluates: there are validation samples. measures: train.precise_bn or its like.
  EventSchedule(const Experiment& experiment, const Length& length, bool evaluates, bool measures);

  const Length& length() const { return length_; }
  Progress progress(const TrainState& state) const { return {state.step, length_.total, length_.steps_per_epoch}; }
  int64_t evaluates_every() const { return evaluates_ ? eval_every_ : 0; }  // steps; 0: never before the end

  bool patience_is_over(const TrainState& state) const;  // checkpoint.early_stop
  bool finished(const TrainState& state) const;          // no step is left to take
  bool complete(const TrainState& state) const;          // nothing is left to do
  bool log_due(const TrainState& state) const;
  bool statistics_due(const TrainState& state) const;
  bool evaluation_due(const TrainState& state) const;
  bool save_due(const TrainState& state) const;
  bool any_due(const TrainState& state) const;  // besides a log line
  // By the config, and not because this call ends here: only such an evaluation can find the best step.
  bool evaluation_counts(const TrainState& state) const { return every(eval_every_, state); }

  bool is_saved(const TrainState& state) const { return saved_step_ == state.step; }
  void note_saved(const TrainState& state) { saved_step_ = state.step; }
  void note_measured(const TrainState& state) { measured_step_ = state.step; }
  void note_evaluated(const TrainState& state) { evaluated_step_ = state.step; }  // also where that failed or does not count

 private:
  bool every(int64_t steps, const TrainState& state) const;

  Length length_;
  bool evaluates_, measures_, keeps_best_;
  int64_t patience_, eval_every_, save_every_, log_every_;  // 0: never
  int64_t saved_step_ = -1, measured_step_ = -1, evaluated_step_ = -1;
};

}  // namespace tessera
