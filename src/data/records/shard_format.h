#pragma once
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "data/encoded_sample.h"

namespace tessera {

// Where a sample lies in its shard.
struct RecordPlace {
  std::string id;  // empty: the shard does not say, or says something that is no name (see usable_id)
  uint64_t offset = 0;
  uint64_t size = 0;
};

// How the samples of a shard without an index of its own are found and read: TFRecord, tar. Immutable.
class ShardFormat {
 public:
  virtual ~ShardFormat() = default;

  // What the places depend on beside the shard's bytes, in a word: the format and the names it looks for.
  virtual std::string name() const = 0;

  // Whether a file of this name is a shard.
  virtual bool is_shard(const std::string& file) const = 0;

  // Whether these bytes are a shard that is compressed (see gunzip).
  virtual bool is_packed(std::span<const uint8_t> bytes) const = 0;

  // The samples of a shard in order. `shard` is what messages call it. Throws Error where it is damaged so that what comes
  // after is lost; a single sample that is damaged has a place.
  virtual std::vector<RecordPlace> places(std::span<const uint8_t> bytes, const std::string& shard) const = 0;

  // Which parts the first sample of a shard has, whatever they are called, for messages; empty where that makes no difference.
  virtual std::vector<std::string> first_parts(std::span<const uint8_t> /*bytes*/, const std::string& /*shard*/) const {
    return {};
  }

  // The sample at a place, which gets this id; `name` is what messages call the place. Throws BadSample where it is damaged.
  virtual EncodedSample read(const Blob& bytes, const RecordPlace& place, const std::string& id,
                             const std::string& name) const = 0;
};

// Whether text from a shard can name a sample: what is written for a sample is called after it. A relative path that does not
// lead out of its folder, short enough for a file system. Any bytes, as file names have them: what shows them escapes them.
bool usable_id(const std::string& id);

}  // namespace tessera
