#pragma once
#include <span>
#include <string>
#include <vector>

#include "data/records/mds_index.h"
#include "storage/blob.h"

namespace tessera {

// The bytes of a shard, not compressed: Note [MDS]. Every offset is checked before it is used.
class MdsShardFile {
 public:
  // Throws Error that begins with `name` where the bytes are no shard of so many samples.
  MdsShardFile(Blob file, int64_t samples, std::string name);

  int64_t samples() const { return samples_; }
  const std::string& name() const { return name_; }

  // The columns of a sample, as parts of the file. Throws Error where they do not fill it.
  std::vector<Blob> values(int64_t sample, const MdsColumns& columns) const;

 private:
  uint32_t offset(int64_t sample) const;

  Blob file_;
  int64_t samples_;
  std::string name_;
};

// The other way: samples to the bytes of a shard.
class MdsShardBuilder {
 public:
  MdsShardBuilder(const MdsColumns& columns, const MdsOptions& options);

  // Bytes of the shard, as mosaicml-streaming counts them against its size limit, with this sample too. The parts are the
  // values of the columns, in order.
  uint64_t bytes_with(std::span<const std::span<const uint8_t>> values) const;

  // Throws Error where a value is not of its column's size.
  void add(std::span<const std::span<const uint8_t>> values);

  int64_t samples() const { return static_cast<int64_t>(sizes_.size()); }

  std::vector<uint8_t> finish() const;

 private:
  uint64_t size_of(std::span<const std::span<const uint8_t>> values) const;

  MdsColumns columns_;
  std::string header_;
  std::vector<uint64_t> sizes_;
  std::vector<uint8_t> content_;
};

}  // namespace tessera
