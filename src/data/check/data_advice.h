#pragma once
#include <string>
#include <vector>

#include "config/experiment.h"
#include "data/check/data_look.h"
#include "data/check/label_advice.h"
#include "data/datasets/split.h"

namespace tessera {

// What to set so that a data set can be trained on: found by a look at its files, whatever the config says of them so far.
struct DataAdvice {
  LabelAdvice labels;
  MaskLook masks;                 // empty where samples have no mask files
  std::vector<ImageLook> images;  // as the files show them
  int64_t channels = 0;           // data.channels to use
  bool channels_needed = false;   // with the config's the files cannot be read
  std::vector<std::string> keys;  // key=value to add to the config, labels first
  DataConfig config;              // with these keys, and with normalisation decided

  bool needed() const { return labels.needed || channels_needed; }
};

// Looks at some samples of the split; where their masks do not fit the config, at the masks of all, and of train's at those of
// validation too, so that what is advised holds for every one. names_given: see advise_labels. all_masks: look at those of all
// samples in any case.
DataAdvice advise_data(const Experiment& experiment, bool names_given, int threads, bool all_masks = false,
                       Split split = Split::kTrain);

}  // namespace tessera
