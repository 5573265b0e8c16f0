#pragma once
#include <string>

#include "data/records/shard_writer.h"

namespace tessera {

// Writes WebDataset's shards: of each sample KEY.jpg (or what its image is) and KEY.mask.png. The key is the sample's id; dots
// in the last part of it, where the key would end, are written as "%2E", and '%' as "%25".
class TarWriter : public ShardWriter {
 public:
  // `image`, `labels`: endings to use in place of those.
  explicit TarWriter(std::string image = "", std::string labels = "") : image_(std::move(image)), labels_(std::move(labels)) {}

  uint64_t bytes_with(const EncodedSample& sample) const override;
  void add(const EncodedSample& sample) override;
  std::vector<uint8_t> finish() override;

 private:
  std::string image_member(const EncodedSample& sample) const;
  std::string labels_member(const EncodedSample& sample) const;

  std::string image_, labels_;
  std::vector<uint8_t> archive_;
};

}  // namespace tessera
