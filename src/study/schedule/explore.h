#pragma once
#include "core/rng.h"
#include "study/schedule/scheduler_config.h"
#include "study/space/space.h"

namespace tessera {

// Parameters near these, as population-based training tries them: each one that may change is drawn anew with probability
// `resample`, otherwise a number is multiplied by 1.2 or 0.8 and a choice becomes its left or right neighbour. All stay in
// their ranges; a number with steps changes by one step at least. Parameters that come into use are drawn.
Assignment explore(const Space& space, const Assignment& parameters, const PopulationConfig& config, Rng rng);

}  // namespace tessera
