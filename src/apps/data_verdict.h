#pragma once
#include <string>
#include <vector>

#include "data/check/data_advice.h"
#include "data/check/data_check.h"

namespace tessera {

// A split that was read, and what it holds.
struct CheckedSplit {
  const Survey* survey;
  DataReport report;
};

// What all of it comes to.
struct DataVerdict {
  std::string state;  // "ready", "left_out": trains without some samples, or "mend": something must be mended first
  std::string text;
};

DataVerdict verdict_of(const DataAdvice& advice, const std::vector<CheckedSplit>& checked);

}  // namespace tessera
