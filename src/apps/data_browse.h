#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"
#include "data/datasets/data_line.h"

namespace tessera {

struct BrowseArguments {
  std::string output = "browse.html";
  int64_t count = 12;                // samples per split
  int64_t augmented = 3;             // versions of a training sample
  std::vector<std::string> classes;  // only samples that show one of these; empty: all
};

// `tessera data browse`: some samples of each split, with their masks and as the network will see them, as a page or a picture.
void data_browse(const BrowseArguments& arguments, Experiment experiment, const std::vector<OpenSplit>& open);

}  // namespace tessera
