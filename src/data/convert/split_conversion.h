#pragma once
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/convert/journal.h"
#include "data/convert/output_format.h"
#include "data/dataset.h"

namespace tessera {

// Writes the samples of one split: Note [Converting].
class SplitConversion {
 public:
  // `dataset`, `format` and `journal` must outlive it. `on_samples` is told of samples that are done.
  SplitConversion(const Dataset& dataset, std::string split, fs::path folder, const OutputFormat& format, uint64_t shard_bytes,
                  int workers, Journal& journal, std::function<void(int64_t)> on_samples);

  // All shards in order: those of an earlier process that are whole, and new ones.
  std::vector<WrittenShard> write();

  int64_t kept() const { return kept_; }

  // Reads everything back. Throws Error where a sample is not what went in.
  void verify(const std::vector<WrittenShard>& shards) const;

 private:
  const WrittenShard* found(int64_t number, int64_t first);
  bool is_whole(const WrittenShard& shard) const;
  int64_t write_from(int64_t first, int64_t number, std::vector<WrittenShard>& written);
  WrittenShard store(ShardWriter& writer, WrittenShard shard) const;

  const Dataset& dataset_;
  const std::string split_;
  const fs::path folder_;
  const OutputFormat& format_;
  const uint64_t shard_bytes_;
  const int workers_;
  Journal& journal_;
  const std::function<void(int64_t)> on_samples_;
  std::map<int64_t, WrittenShard> earlier_;  // by number; those that were looked at and are broken are gone
  int64_t kept_ = 0;
};

}  // namespace tessera
