#pragma once
#include <memory>

#include "config/experiment.h"
#include "data/check/kept_look.h"
#include "data/check/label_counts.h"
#include "data/dataset.h"

namespace tessera {

// The data sets of a run, opened and looked at. They do not change, and any number of threads may read them, so runs that see
// the same samples can share them: what folders hold is then listed, a large annotation file parsed, some samples looked at,
// and labels counted where a run wants that, once.
struct RunData {
  DatasetPtr train, val;  // val may be empty
  DataConfig config;      // that they were opened with
  // Of the training set.
  std::shared_ptr<KeptLook> looked = std::make_shared<KeptLook>();
  std::shared_ptr<LabelCounts> labels = std::make_shared<LabelCounts>();
};

// Throws Error where they cannot be opened or nothing can be learned from them, UsageError where the config cannot be meant for
// them.
RunData open_run_data(const Experiment& experiment);

// Throws Error, naming the keys that differ, unless the experiment's own data sets would be these. What is done to samples
// after they are read (transforms, normalisation) and how they are read (threads) may be another for each run.
void check_run_data(const RunData& data, const Experiment& experiment);
// Whether check_run_data would not throw.
bool is_run_data_of(const RunData& data, const Experiment& experiment);

}  // namespace tessera
