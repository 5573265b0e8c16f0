#pragma once
#include <compare>
#include <vector>

#include "study/pareto.h"
#include "study/trial.h"

namespace tessera {

// What searchers keep of how a trial stands.
struct Outcome {
  enum class Kind {
    kComplete,  // `losses` has what it reached
    kStopped,   // it came to `step` and was at losses[0] there; also of trials that pause
    kFailed,    // or complete without being a number: worse than all others
    kPending,   // waiting or running
  };
  Kind kind = Kind::kPending;
  int64_t step = -1;
  Losses losses = {};
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Trial& trial, const std::vector<Direction>& directions);

// Whether a trial with one objective did better than another one. Complete ones come first, then stopped ones, of which who
// came farther is better, then failed ones.
bool is_better(const Outcome& a, const Outcome& b);

}  // namespace tessera
