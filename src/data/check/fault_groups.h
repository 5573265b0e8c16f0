#pragma once
#include <string>
#include <vector>

#include "data/check/data_check.h"

namespace tessera {

// Samples that cannot be used for one reason.
struct FaultGroup {
  std::vector<SampleFault> faults;  // in the order of the data set
  bool about_values = false;        // a mask value has no class
};

// Puts faults together whose reasons differ in names, numbers and places alone; groups are in the order of their first.
std::vector<FaultGroup> group_faults(const std::vector<SampleFault>& faults);

}  // namespace tessera
