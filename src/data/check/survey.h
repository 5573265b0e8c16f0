#pragma once
#include <functional>
#include <string>
#include <vector>

#include "data/check/sample_facts.h"
#include "data/datasets/split.h"

namespace tessera {

// All samples of a split, each looked at once.
struct Survey {
  Split split = Split::kTrain;
  DatasetPtr data;
  std::vector<SampleFacts> samples;  // in the order of the data set
  ByteHistogram histogram;           // of the usable samples with 8-bit images
  double seconds = 0;                // that it took
};

// Reads every sample once, on `threads` threads, whose number changes nothing but the time. Memory: what is decoded on each
// thread, and about a kilobyte for each sample. `progress` (may be empty) is called with the number of samples done, one call
// at a time, from any of the threads; what it throws ends the survey.
Survey survey_split(Split split, DatasetPtr data, int threads, const std::function<void(int64_t done)>& progress);

}  // namespace tessera
