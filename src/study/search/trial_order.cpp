#include "study/search/trial_order.h"

#include <algorithm>
#include <cmath>

namespace tessera {

Outcome outcome_of(const Trial& trial, const std::vector<Direction>& directions) {
  if (trial.state == TrialState::kComplete) {
    Losses losses = losses_of(trial.values, directions);
    // Several objectives are compared by volumes, which infinite losses have none of.
    const bool usable = directions.size() == 1
                            ? !trial.values.empty() && !std::isnan(trial.values[0])
                            : std::all_of(losses.begin(), losses.end(), [](double loss) { return std::isfinite(loss); });
    return {.kind = usable ? Outcome::Kind::kComplete : Outcome::Kind::kFailed, .losses = usable ? losses : Losses{}};
  }
  if (trial.state == TrialState::kFailed) return {.kind = Outcome::Kind::kFailed};
  if (trial.state == TrialState::kStopped || (trial.state == TrialState::kPaused && !trial.reports.empty())) {
    if (trial.reports.empty()) return {.kind = Outcome::Kind::kStopped, .losses = {0.0}};
    const Report& last = trial.reports.back();
    return {.kind = Outcome::Kind::kStopped, .step = last.step, .losses = losses_of({last.value}, {directions.front()})};
  }
  return {};
}

bool is_better(const Outcome& a, const Outcome& b) {
  if (a.kind != b.kind) return a.kind < b.kind;
  if (a.kind == Outcome::Kind::kStopped && a.step != b.step) return a.step > b.step;
  return !a.losses.empty() && !b.losses.empty() && a.losses[0] < b.losses[0];
}

}  // namespace tessera
