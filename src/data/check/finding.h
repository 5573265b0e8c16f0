#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/check/finding_kind.h"
#include "data/check/survey.h"

namespace tessera {

// A sample that a finding is about.
struct FoundSample {
  int64_t index = 0;  // in its split
  std::string id;
  std::string detail;  // "37 of 80 borders pass through values in between"
  // The sample it is compared with, of which it is a copy; -1: none.
  int64_t other = -1;
  Split other_split = Split::kTrain;
};

// One thing that is wrong with a split.
struct Finding {
  FindingKind kind{};
  Split split{};
  std::vector<FoundSample> samples;  // in the order of the data set; empty: it is about the split as a whole
  std::string text;                  // where it is, what is found
  std::vector<std::string> keys;     // key=value that would mend it
};

// What the checks look at: the splits, and the config that they were read by.
struct CheckInput {
  std::span<const Survey> surveys;
  const DataConfig& config;
};

// All that the checks find, in the order of splits and kinds. What one sample has of two kinds of which one explains the other
// is told once.
std::vector<Finding> find_faults(const CheckInput& input);

}  // namespace tessera
