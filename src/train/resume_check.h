#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"

namespace tessera {

// A value that differs between the saved config of a run and another one.
struct ConfigChange {
  std::string key, before, now;
  std::string text() const;  // "optimizer.lr: 0.01 in the run, 0.1 now"
};

// In the order of the schema. Keys that the saved config does not know (it is of an older version) are left out.
std::vector<ConfigChange> config_changes(const std::string& saved_yaml, const Experiment& now);

// Throws UsageError when a run would go on under a config that defines another experiment, naming the keys that differ. Where
// results go, how fast it runs and how it is measured may change; what is learned from may not.
void check_same_experiment(const std::string& saved_yaml, const Experiment& now);

}  // namespace tessera
