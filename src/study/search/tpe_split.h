#pragma once
#include <cstddef>
#include <vector>

#include "study/search/trial_order.h"

namespace tessera {

// The trials that TPE calls good: a tenth of those that ended, at most 25 where there is one objective. With several objectives
// they are those of the first ranks of domination, and of the rank that does not fit those that add the most hypervolume (Ozaki
// et al. 2022). Indices into `outcomes`, ascending. Failed and pending trials are never good.
std::vector<size_t> good_trials(const std::vector<Outcome>& outcomes, size_t num_objectives);

}  // namespace tessera
