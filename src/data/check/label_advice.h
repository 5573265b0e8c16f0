#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/check/mask_look.h"

namespace tessera {

// How masks can be read as classes where the config does not say so, or says something that cannot be.
struct LabelAdvice {
  bool needed = false;               // the config as it is does not fit the masks
  LabelConfig labels;                // the rules to use
  std::vector<std::string> classes;  // the names to use; may be empty with labels.binary
  std::string reading;               // "0 is background, 255 an object": what these settings mean
  std::vector<std::string> others;   // other readings, each a sentence with its keys
  std::string mistake;               // why no settings would do; then the others are as the config has them
};

// names_given: data.classes are the user's own words, which are kept as far as they go, rather than those of a config file.
LabelAdvice advise_labels(const MaskLook& masks, const DataConfig& config, bool names_given);

// `data.labels.binary=true`, `data.classes=[a,b]`, ..: what of the advice differs from the config, as key=value.
std::vector<std::string> label_keys(const LabelAdvice& advice, const DataConfig& config);

}  // namespace tessera
