#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/datasets/data_line.h"

namespace tessera {

struct StatsArguments {
  bool json = false;
  std::string html;  // a page with plots; empty: none
};

// `tessera data stats`: classes, sizes, mean and std of each split. Returns the exit code: 1 when a split has samples and none
// of them can be used, as there is nothing to count then.
int data_stats(const StatsArguments& arguments, const DataConfig& config, const std::vector<OpenSplit>& open);

}  // namespace tessera
