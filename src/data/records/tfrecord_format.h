#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/records/shard_format.h"

namespace tessera {

// The features of an Example that make up a sample, the first that is there.
struct FeatureNames {
  std::vector<std::string> image = {"image", "image/encoded"};
  std::vector<std::string> labels = {"labels", "label", "mask", "image/segmentation/class/encoded"};
  std::vector<std::string> id = {"id", "image/filename"};
};

// What data.records names replaces the usual names.
FeatureNames feature_names(const RecordsConfig& config);

// TFRecord files whose records are tf.train.Example, plain or packed by GZIP or ZLIB: *.tfrecord, *.tfrecords (and .gz),
// NAME-00000-of-00008. A sample without the feature of labels has none.
class TfRecordFormat : public ShardFormat {
 public:
  explicit TfRecordFormat(FeatureNames names) : names_(std::move(names)) {}

  std::string name() const override;
  bool is_shard(const std::string& file) const override;
  bool is_packed(std::span<const uint8_t> bytes) const override;
  std::vector<RecordPlace> places(std::span<const uint8_t> bytes, const std::string& shard) const override;
  EncodedSample read(const Blob& bytes, const RecordPlace& place, const std::string& id,
                     const std::string& name) const override;

 private:
  FeatureNames names_;
};

}  // namespace tessera
