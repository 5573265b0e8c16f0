#pragma once
#include <string_view>
#include <vector>

#include "config/data_config.h"
#include "core/files.h"

namespace tessera {

// What is learned from, what a run is measured on while it trains, and what it never sees before the end.
enum class Split { kTrain, kVal, kTest };

inline std::string_view name_of(Split split) {
  switch (split) {
    case Split::kTrain: return "train";
    case Split::kVal: return "val";
    case Split::kTest: break;
  }
  return "test";
}

inline const SplitConfig& split_of(const DataConfig& config, Split split) {
  switch (split) {
    case Split::kTrain: return config.train;
    case Split::kVal: return config.val;
    case Split::kTest: break;
  }
  return config.test;
}

// Test images are measured as validation images are, unless the config says otherwise.
inline const std::vector<TransformConfig>& transforms_of(const DataConfig& config, Split split) {
  const bool as_val = split == Split::kTest && config.test.transforms.empty();
  return split_of(config, as_val ? Split::kVal : split).transforms;
}

// Where a split's relative paths start: its own root, or the data set's.
inline fs::path root_of(const DataConfig& config, const SplitConfig& split) {
  return split.path.empty() ? fs::path(config.path) : fs::path(split.path);
}

// Whether the config says where a split's samples are; else that is found, where a source can.
inline bool names_files(const SplitConfig& split) {
  return !split.path.empty() || !split.images.empty() || !split.masks.empty() || !split.list.empty();
}

}  // namespace tessera
