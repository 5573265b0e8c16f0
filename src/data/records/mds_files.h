#pragma once
#include <memory>
#include <vector>

#include "data/records/mds_index.h"
#include "data/records/mds_shard.h"
#include "storage/file_store.h"

namespace tessera {

// The index of an MDS folder. Throws Error.
std::vector<MdsShard> read_mds_index(FileStore& store);

// A shard of it: fetched, checked against one of its hashes, and unpacked where it is compressed. Throws Error that names it.
std::shared_ptr<const MdsShardFile> open_mds_shard(FileStore& store, const MdsShard& shard);

}  // namespace tessera
