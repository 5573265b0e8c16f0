#pragma once
#include <string>
#include <vector>

#include "data/check/finding.h"

namespace tessera {

struct FindingPicture {
  std::string label;  // "mask, 48 x 48"
  Image picture;      // RGB
};

// A sample that a finding is about, as it is seen: the image, the mask, what is wrong marked, and the sample it is a copy of.
// What cannot be read is left out. Reads the files again.
std::vector<FindingPicture> draw_finding(const CheckInput& input, const Finding& finding, const FoundSample& sample);

}  // namespace tessera
