#pragma once
#include <string>

#include "data/records/shard_writer.h"

namespace tessera {

// Writes records of tf.train.Example: `image` and `labels` as they are stored, and `id`. A sample without labels has no such
// feature.
class TfRecordWriter : public ShardWriter {
 public:
  // The names of the features.
  explicit TfRecordWriter(std::string image = "image", std::string labels = "labels", std::string id = "id")
      : image_(std::move(image)), labels_(std::move(labels)), id_(std::move(id)) {}

  uint64_t bytes_with(const EncodedSample& sample) const override;
  void add(const EncodedSample& sample) override;
  std::vector<uint8_t> finish() override;

 private:
  std::string image_, labels_, id_;
  std::string file_;
};

}  // namespace tessera
