#pragma once
#include <utility>
#include <vector>

#include "study/space/space.h"
#include "study/store/database.h"
#include "study/trial.h"

namespace tessera {

// The rows of trials: Note [Optuna's tables]. `id` is the trial's among all studies of the file. These functions begin no
// transaction of their own.

// The number after that of the study's last trial.
int64_t next_trial_number(const Database& database, int64_t study);
// Returns the id.
int64_t insert_trial(const Database& database, int64_t study, const Space& space, const Trial& trial);
// Writes where `now` differs from `before`, which is what the tables hold.
void update_trial(const Database& database, int64_t id, const Trial& before, const Trial& now);

struct StoredTrial {
  int64_t id = 0;
  Trial trial;
};
// All of a study, in order of their numbers; `number` not below 0: that one alone.
std::vector<StoredTrial> load_trials(const Database& database, int64_t study, int64_t number = -1);

// The parameters that the trials of a study name, with the ranges they had last.
Space space_of_trials(const Database& database, int64_t study);

}  // namespace tessera
