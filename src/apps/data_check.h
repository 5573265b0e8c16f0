#pragma once
#include <string>
#include <vector>

#include "apps/command.h"
#include "data/datasets/split.h"

namespace tessera {

struct CheckArguments {
  ConfigArguments config;
  std::vector<Split> splits;
  bool json = false;
  bool all = false;      // every sample that cannot be used by itself, also where many have one fault
  std::string html;      // a page with pictures of what was found; empty: none
  std::string manifest;  // lists of the samples to train on; empty: none
};

// `tessera data check`: reads every sample and ends with the command to train with. Returns the exit code: 2 where the config
// has to be changed for these files, else 1 where samples cannot be used, else 0.
int check_data(const CheckArguments& arguments);

}  // namespace tessera
