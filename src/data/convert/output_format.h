#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/convert/journal.h"
#include "data/dataset.h"
#include "data/datasets/split.h"
#include "data/records/record_source.h"
#include "data/records/shard_writer.h"

namespace tessera {

// What a conversion writes, and how.
struct OutputOptions {
  std::string format = "mds";            // mds, tfrecord, tar, folder
  std::string compression = {};          // of whole shards, "zstd:3"; empty: none
  std::vector<std::string> hashes = {};  // in the index of MDS, sorted
  uint64_t shard_bytes = uint64_t{64} << 20;
};

// Throws UsageError for what a format cannot do.
void check_output(const OutputOptions& options);

struct NamedBytes {
  std::string name;
  std::vector<uint8_t> bytes;
};

// How the samples of one split are laid out in files. Thread-safe.
class OutputFormat {
 public:
  virtual ~OutputFormat() = default;

  virtual std::unique_ptr<ShardWriter> new_shard() const = 0;

  // The files of a shard, named below the folder of the split; `about` gets what `closing` needs of it.
  virtual std::vector<NamedBytes> files(ShardWriter& shard, int64_t number, nlohmann::json& about) const = 0;

  // The files beside the shards, when all are written.
  virtual std::vector<NamedBytes> closing(const std::vector<WrittenShard>& /*shards*/) const { return {}; }

  // The samples in the order in which they were written; null where they are found in another order.
  virtual RecordSourcePtr open(const fs::path& folder) const = 0;

  // Whether samples are told apart by their names alone.
  virtual bool needs_unique_names() const { return false; }

  // Why no sample can be called so; empty: one can.
  virtual std::string why_not_named(const std::string& /*id*/) const { return ""; }
};

// Some of the samples are read, for what depends on how all of them are stored.
std::unique_ptr<OutputFormat> make_output_format(const OutputOptions& options, const Dataset& dataset, Split split);

}  // namespace tessera
