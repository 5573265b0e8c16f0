#pragma once
#include <vector>

#include "config/experiment.h"

namespace tessera {

// The lines of experiment_lines that have an effect: without the groups of other models and other kinds of data, without
// those of what is switched off, and without inner groups that are as the defaults are. For people who want to see what a run
// would be.
std::vector<SchemaLine> used_lines(Experiment& experiment);

}  // namespace tessera
