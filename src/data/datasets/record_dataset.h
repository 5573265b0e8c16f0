#pragma once
#include <optional>
#include <string>
#include <utility>

#include "data/datasets/encoded_dataset.h"
#include "data/records/record_source.h"

namespace tessera {

// The samples of a RecordSource, decoded.
class RecordDataset : public EncodedDataset {
 public:
  RecordDataset(RecordSourcePtr source, const RecordsConfig& config, ClassTable classes, LabelConfig rules,
                DecodeOptions options, DataOrigin origin)
      : EncodedDataset(std::move(classes), std::move(rules), std::move(options), std::move(origin)),
        source_(std::move(source)),
        shards_{source_->shard_starts(), config.shuffle_block, config.predownload} {}

  int64_t size() const override { return source_->size(); }
  std::string id(int64_t index) const override { return source_->id(index); }
  std::optional<EncodedSample> encoded(int64_t index) const override { return source_->read(index); }
  ShardReading shards() const override { return shards_; }
  void will_need(const std::vector<int64_t>& indices) const override { source_->will_need(indices); }
  const RecordSource& source() const { return *source_; }

 private:
  RecordSourcePtr source_;
  ShardReading shards_;
};

}  // namespace tessera
