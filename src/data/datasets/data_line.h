#pragma once
#include <string>
#include <vector>

#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

struct OpenSplit {
  Split split;
  DatasetPtr data;
};

// What was taken as what: "367 train (images/train), 101 val (images/val), 233 test (images/test, not trained on)".
std::string data_line(const std::vector<OpenSplit>& splits);

// Logs it for the splits that a command uses, once, and warns of what was left out. Where they are train and val, the test
// split is told of too, if there is one.
void announce_data(const DataConfig& config, std::vector<OpenSplit> used);

// The warnings alone, each once, whatever the number of splits it was found with.
void warn_of_left_out(const std::vector<OpenSplit>& splits);

}  // namespace tessera
