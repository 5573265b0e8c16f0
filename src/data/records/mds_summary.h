#pragma once
#include <cstdint>
#include <string>

#include "storage/file_store.h"

namespace tessera {

// An MDS folder for people: how many samples and shards, the columns and their encodings, and the values of the first samples,
// a line each. Shards are opened as far as these go. Throws Error.
std::string mds_summary(FileStore& store, int64_t samples);

}  // namespace tessera
