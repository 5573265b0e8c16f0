#pragma once
#include <string_view>

#include "config/data_config.h"
#include "core/files.h"

namespace tessera {

enum class Split { kTrain, kVal };

inline std::string_view name_of(Split split) {
  return split == Split::kTrain ? "train" : "val";
}

inline const SplitConfig& split_of(const DataConfig& config, Split split) {
  return split == Split::kTrain ? config.train : config.val;
}

// Where a split's relative paths start: its own root, or the data set's.
inline fs::path root_of(const DataConfig& config, const SplitConfig& split) {
  return split.path.empty() ? fs::path(config.path) : fs::path(split.path);
}

}  // namespace tessera
