#pragma once
#include <functional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/convert/output_format.h"
#include "data/datasets/data_line.h"

namespace tessera {

// Note [Converting]
// Samples are read and encoded on threads and joined to shards in their order, so that what is written is a function of the
// data and the options alone; shards are hashed, compressed and written on threads. Each file is written under a temporary
// name, flushed and renamed, then the journal says so: a conversion that was killed at any moment goes on where it was, and its
// result is that of one that was not, byte for byte. What an earlier process wrote is read and compared before it is kept. In
// the end everything is read back through the reader that training uses and compared with what went in. The folder holds what
// training needs to know beside the samples (DatasetCard).

struct ConvertOptions {
  OutputOptions output;
  int workers = 1;
};

struct ConvertedSplit {
  Split split = Split::kTrain;
  int64_t samples = 0;
  int64_t shards = 0;
  int64_t kept = 0;    // shards of an earlier process
  uint64_t bytes = 0;  // of its files
};

// Writes the samples of `splits` into folders below `to` that are called after them. Returns nothing where an earlier call has
// done so to the end.
// `on_sample` is told how many samples of all are done. Throws Error: a sample that cannot be read, a disk that is full or
// would be, a folder that holds something else.
std::vector<ConvertedSplit> convert(const DataConfig& config, const std::vector<OpenSplit>& splits, const fs::path& to,
                                    const ConvertOptions& options, const std::function<void(int64_t)>& on_sample);

}  // namespace tessera
