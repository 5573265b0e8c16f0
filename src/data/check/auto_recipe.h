#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "data/check/commented_config.h"
#include "data/check/data_fingerprint.h"

namespace tessera {

// Note [Automatic recipe]
// For people who have a folder and no recipe. From a fingerprint of the data and the facts of the device follow, by the rules
// in auto_recipe.cpp, all values of a config that are not the data's own, each with its reason. The rules know no data set by
// name, and the same facts give the same choices; only the length is cut where measured steps say that the device is slow.

struct DeviceFacts {
  bool gpu = false;
  std::string name = {};    // "NVIDIA H200", "4 CPU cores"
  bool pretrained = false;  // weights of a ResNet-34 are on this machine
};

std::vector<CommentedValue> choose_recipe(const DataFingerprint& data, const DeviceFacts& device);

// How long to train: the steps that the data asks for, fewer where they would take longer than `seconds` with the step time
// that was measured.
CommentedValue choose_duration(const DataFingerprint& data, int64_t batch_size, double step_seconds, double seconds);

}  // namespace tessera
