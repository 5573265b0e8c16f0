#pragma once
#include <cstdint>
#include <vector>

#include "data/encoded_sample.h"

namespace tessera {

// One shard that is being written, in memory: MDS, TFRecord, tar. What comes out is a function of the samples and their order
// alone, so that a conversion that is repeated writes the same bytes.
class ShardWriter {
 public:
  virtual ~ShardWriter() = default;

  // How large the shard would be with this sample too, before compression.
  virtual uint64_t bytes_with(const EncodedSample& sample) const = 0;

  virtual void add(const EncodedSample& sample) = 0;

  // The whole file, not compressed. Nothing may be added afterwards.
  virtual std::vector<uint8_t> finish() = 0;
};

}  // namespace tessera
