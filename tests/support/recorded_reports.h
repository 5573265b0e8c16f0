#pragma once
#include <vector>

#include "study/schedule/scheduler.h"

namespace tessera {

// Trials of a test, whose reports are known beforehand: value of each report (steps 1, 2, ...) of each trial.
class RecordedReports {
 public:
  explicit RecordedReports(std::vector<std::vector<double>> values) : values_(std::move(values)) {
    for (size_t i = 0; i < values_.size(); ++i) trials_.push_back({.number = static_cast<int64_t>(i)});
  }

  // What the scheduler says when the trial begins, and after its next report.
  Decision begin(Scheduler& scheduler, int64_t number) {
    trial(number).state = TrialState::kRunning;
    return note(scheduler, number, scheduler.decide(trial(number)));
  }
  Decision report(Scheduler& scheduler, int64_t number) {
    Trial& reported = trial(number);
    const size_t next = reported.reports.size();
    reported.reports.push_back({static_cast<int64_t>(next) + 1, values_.at(static_cast<size_t>(number)).at(next)});
    return note(scheduler, number, scheduler.decide(reported));
  }
  // Reports until the scheduler says something other than to go on.
  Decision run(Scheduler& scheduler, int64_t number) {
    if (trial(number).state != TrialState::kRunning) begin(scheduler, number);
    while (true) {
      const Decision decision = report(scheduler, number);
      if (decision.kind != Decision::Kind::kGoOn) return decision;
    }
  }
  void take(Scheduler& scheduler, const Promotion& promotion) {
    trial(promotion.trial).state = TrialState::kRunning;
    scheduler.observe(trial(promotion.trial));
  }
  void end(Scheduler& scheduler, int64_t number, TrialState state) {
    trial(number).state = state;
    scheduler.observe(trial(number));
  }

  Trial& trial(int64_t number) { return trials_.at(static_cast<size_t>(number)); }
  const std::vector<Trial>& trials() const { return trials_; }

  // As a controller that is started again tells what the store has.
  void tell(Scheduler& scheduler) const {
    for (const Trial& trial : trials_) {
      if (trial.state != TrialState::kWaiting) scheduler.observe(trial);
    }
  }

 private:
  Decision note(Scheduler& scheduler, int64_t number, const Decision& decision) {
    switch (decision.kind) {
      case Decision::Kind::kGoOn:
      case Decision::Kind::kCopy: return decision;
      case Decision::Kind::kPause: trial(number).state = TrialState::kPaused; break;
      case Decision::Kind::kStop: trial(number).state = TrialState::kStopped; break;
      case Decision::Kind::kFinish: trial(number).state = TrialState::kComplete; break;
    }
    scheduler.observe(trial(number));
    return decision;
  }

  std::vector<std::vector<double>> values_;
  std::vector<Trial> trials_;
};

}  // namespace tessera
