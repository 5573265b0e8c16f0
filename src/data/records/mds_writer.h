#pragma once
#include <memory>
#include <string>

#include "data/records/mds_shard.h"
#include "data/records/shard_writer.h"

namespace tessera {

// The columns that samples are written in, those of ADE20K in mosaicml-streaming: uid and x, and y where there are labels. The
// encodings are jpeg, png or bytes.
MdsColumns mds_sample_columns(const std::string& image_encoding, const std::string& labels_encoding);

// Writes samples as a shard of such columns (Note [MDS]): the bytes of their files as they are.
class MdsWriter : public ShardWriter {
 public:
  MdsWriter(const MdsColumns& columns, const MdsOptions& options) : shard_(columns, options), labelled_(columns.size() > 2) {}

  uint64_t bytes_with(const EncodedSample& sample) const override;
  void add(const EncodedSample& sample) override;
  std::vector<uint8_t> finish() override { return shard_.finish(); }

 private:
  MdsShardBuilder shard_;
  bool labelled_;
};

}  // namespace tessera
