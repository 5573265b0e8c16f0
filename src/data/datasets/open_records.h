#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "core/files.h"
#include "data/dataset.h"
#include "data/datasets/split.h"

namespace tessera {

// Note [Splits in shards]
// The shards of a split lie in a folder below data.path that is called after it (train, val or validation, test), or in
// data.SPLIT.path. Behind a URL, where folders cannot be looked through, these are train, val and test. TFRecord
// and tar shards may also lie in data.path itself, called after their splits or all of train: see open_shards. Without a val of
// its own val is held out of train as data.val_share says. What is true of all splits stands beside their folders: DatasetCard.

// The samples of a split that lie in shards: data.type mds, tfrecord, tar. Throws UsageError or Error.
DatasetPtr make_records(const DataConfig& config, Split split);

// Whether there are shards that are this split's.
bool has_records(const DataConfig& config, Split split);

// The key=value pairs that say how a folder that was not described is read as shards: by its card, or by the index of MDS.
// Empty where it holds none. Throws UsageError for a card that cannot be read.
std::vector<std::string> record_keys(const fs::path& folder);

}  // namespace tessera
