#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "data/records/shard_format.h"

namespace tessera {

// Note [Shard indices]
// TFRecord and tar shards do not say how many samples they hold and where; to know, they are read once from front to back. What
// was found is kept in the cache folder, in one file per shard, so that the data set opens at once the next time. Such a file
// is of one path, size and time of change, and says so itself: a shard that was written anew is looked through anew. Shards
// behind a URL are known by their address alone until they are opened, which compares their size. A file that is damaged, or
// that cannot be written, is as good as none.

// What a kept index is of. `size` < 0, `changed_ns` 0: not known.
struct ShardIdentity {
  std::string place;   // path or address
  std::string format;  // ShardFormat::name
  int64_t size = -1;
  int64_t changed_ns = 0;
};

struct ShardIndex {
  uint64_t shard_bytes = 0;  // unpacked
  std::vector<RecordPlace> places;
};

std::optional<ShardIndex> load_shard_index(const ShardIdentity& shard);
void keep_shard_index(const ShardIdentity& shard, const ShardIndex& index);
void forget_shard_index(const ShardIdentity& shard);

}  // namespace tessera
