#pragma once
#include <string>

#include "config/experiment.h"

namespace tessera {

// Throws UsageError when a run would go on under a config that defines another experiment, naming the keys that differ. Where
// results go, how fast it runs and how it is measured may change; what is learned from may not.
void check_same_experiment(const std::string& saved_yaml, const Experiment& now);

}  // namespace tessera
