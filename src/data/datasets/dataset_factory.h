#pragma once
#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

// The samples of a split as the config describes them. Throws UsageError for label rules where they have no effect, Error when
// the source cannot be opened; single samples that cannot be read show up later, as BadSample from `get`.
DatasetPtr make_dataset(const DataConfig& config, Split split);

// The test split where the config names or the data has one, else null. It is only ever told of and measured on.
DatasetPtr make_test_set(const DataConfig& config);

}  // namespace tessera
