#pragma once
#include <memory>

#include "config/data_config.h"
#include "data/records/record_source.h"
#include "storage/file_store.h"

namespace tessera {

// The samples of an MDS folder (Note [MDS]), in the order of its shards. Compressed shards are unpacked when they are first
// read; as many stay open as the order of training reads at a time. A shard is checked against its hashes when it is opened.
// Throws Error for an index that is damaged, UsageError where the columns are not what was asked for.
RecordSourcePtr open_mds(std::shared_ptr<FileStore> store, const RecordsConfig& config);

}  // namespace tessera
