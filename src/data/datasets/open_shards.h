#pragma once
#include <string>

#include "config/data_config.h"
#include "data/datasets/split.h"
#include "data/records/record_source.h"

namespace tessera {

// The samples of the TFRecord or tar shards at `place`: a folder or URL of them, one shard, or names with braces
// ("DIR/shard-{000000..000012}.tar"). Of a folder whose shards are called after splits, `split`'s; of another all. Throws Error
// where there are none.
RecordSourcePtr open_shards(SourceType type, const std::string& place, Split split, const RecordsConfig& config,
                            const RemoteConfig& remote = {});

// Whether shards of the type that are this split's lie in the folder itself, not in those below it, or are what `place` names.
// Shards that are not called after a split are train's. Never for mds, whose splits have folders.
bool has_shards(SourceType type, const std::string& place, Split split);

// The folder or URL in which the shards are that `place` names.
std::string shard_root(SourceType type, const std::string& place);

}  // namespace tessera
