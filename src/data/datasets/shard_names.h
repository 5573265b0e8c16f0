#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/split.h"
#include "data/records/shard_format.h"
#include "storage/file_store.h"

namespace tessera {

// Where shards are that are named one by one: "DIR/shard-{000000..000012}.tar", "DIR/a.tfrecord".
struct ShardPattern {
  std::string root;
  std::vector<std::string> files;
};

// Nothing where `place` names a folder: no shard of `format`, and no braces in its last part.
std::optional<ShardPattern> shard_pattern(const std::string& place, const ShardFormat& format);

// "shard-{000000..000012}.tar" as a shell expands it, lists {a,b} too. Throws UsageError for braces that are open or empty, and
// for more than a million names.
std::vector<std::string> expand_braces(const std::string& pattern);

// The shards among `names`, in order: where some are called after a split ("train-00000-of-00008", "val.tar") those that are
// called after `split`, else all.
struct SplitShards {
  std::vector<std::string> files;
  bool named = false;  // they are called after splits
};
SplitShards shards_of_split(const std::vector<std::string>& names, const ShardFormat& format, Split split);

}  // namespace tessera
