#pragma once
#include <string>
#include <vector>

#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// A study that another one goes on from, as its store has it.
struct EarlierStudy {
  std::string name;
  Space space;
  std::vector<Objective> objectives;
  std::vector<Trial> trials;
};

struct EarlierTrials {
  std::vector<Trial> trials;       // numbers -n to -1, the youngest last: what searchers are told before anything else
  std::vector<std::string> notes;  // what was left out, and why
};

// The trials that ended, as trials of this space: choices by what they say, values of the objectives asked for. Those whose
// parameters are not of the space are left out with a note. Throws UsageError where the earlier study does not have one of the
// objectives, or looked for the opposite of it.
EarlierTrials earlier_trials(const EarlierStudy& study, const Space& space, const std::vector<Objective>& objectives);

}  // namespace tessera
