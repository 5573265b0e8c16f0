#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "data/encoded_sample.h"

namespace tessera {

// Samples in files of many: MDS, TFRecord or tar shards, an archive. Immutable after construction; `read` may be called from
// many threads.
class RecordSource {
 public:
  virtual ~RecordSource() = default;

  virtual int64_t size() const = 0;

  // Whether samples have masks, as far as that is said for all of them.
  virtual bool labelled() const { return true; }

  // What else samples have, for messages; empty where that is not said for all of them.
  virtual std::string parts() const { return ""; }

  // The name of a sample, without reading it where that takes a shard that is not here.
  virtual std::string id(int64_t index) const = 0;

  // Throws BadSample where this sample is damaged, Error where its whole shard cannot be had.
  virtual EncodedSample read(int64_t index) const = 0;

  // The index of the first sample of each shard, rising, the first is 0. Samples of one shard are cheap to read together.
  virtual std::vector<int64_t> shard_starts() const { return {0}; }

  // The samples that are read next, in order, as far as that is known: their shards can be fetched meanwhile.
  virtual void will_need(const std::vector<int64_t>& /*indices*/) const {}
};

using RecordSourcePtr = std::shared_ptr<const RecordSource>;

}  // namespace tessera
