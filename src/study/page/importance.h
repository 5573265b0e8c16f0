#pragma once
#include <vector>

#include "study/space/space.h"
#include "study/trial.h"

namespace tessera {

// How much each parameter of the space matters for the first objective, in its order: by how much a forest of 64 regression
// trees predicts the trials that a tree has not seen worse when the parameter's values are exchanged among them (Breiman 2001),
// over twice the values' variance, at least 0: for a forest that predicts well the share of the variance in which the parameter
// has a part (Sobol's total effect). Values count by their rank, so that a few failures of training do not outweigh everything.
// Empty where fewer than ten trials are complete. The same for the same trials.
std::vector<double> parameter_importance(const Space& space, const std::vector<Trial>& trials, Direction direction);

}  // namespace tessera
