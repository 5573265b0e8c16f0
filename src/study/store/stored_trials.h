#pragma once
#include <limits>
#include <optional>
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
// Of the trials of a study those with such ids, in order of their numbers.
struct IdRange {
  int64_t first = 0, last = std::numeric_limits<int64_t>::max();
};
std::vector<StoredTrial> load_trials(const Database& database, int64_t study, const IdRange& range = {});
// The ids of all trials of a study, in order of their numbers; and of one, nothing where there is none.
std::vector<int64_t> ids_of_trials(const Database& database, int64_t study);
std::optional<int64_t> id_of_trial(const Database& database, int64_t study, int64_t number);

// The parameters that the trials of a study name, with the ranges they had last.
Space space_of_trials(const Database& database, int64_t study);

}  // namespace tessera
