#pragma once
#include <span>
#include <string>
#include <vector>

#include "data/datasets/layout.h"

namespace tessera {

// Which samples of a folder are a split's.
struct SplitChoice {
  std::vector<size_t> positions;  // in the names, in the order of the split
  std::string text;               // how they were chosen; empty: all of the folder
};

// As Note [Splits of pairs] says. `names`: of all samples in the split's own folders, or, where it has none, in train's. Throws
// Error where lists share samples or name one that is not there.
SplitChoice choose_split(const DataConfig& config, const Layout& layout, Split split, std::span<const std::string> names);

}  // namespace tessera
