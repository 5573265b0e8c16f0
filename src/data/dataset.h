#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/decode/decode.h"
#include "data/encoded_sample.h"
#include "data/sample.h"

namespace tessera {

// Where the samples of a data set come from, for the line that says what was taken as what.
struct DataOrigin {
  std::string text = {};                // "images/train"; empty: nothing to say
  bool labelled = true;                 // false: there are no masks, and samples come without labels
  std::vector<std::string> notes = {};  // what was found beside the samples and left out, a sentence each
};

// How samples that lie in shards are best read: Note [Order of shards].
struct ShardReading {
  std::vector<int64_t> starts = {};  // the first sample of each shard, rising; empty: samples are files of their own
  int64_t block = 0;                 // samples that are mixed with one another; 0: all
  int64_t ahead = 0;                 // samples whose shards are asked for before they are read; 0: those of 8 batches
};

// How the files of Dataset::encoded are decoded.
struct SampleCoding {
  const DecodeOptions* options = nullptr;
  const LabelConfig* rules = nullptr;
  bool labelled = true;
};

// A fixed list of samples. Implementations are immutable after construction: `get` may be called from many threads.
class Dataset {
 public:
  virtual ~Dataset() = default;

  virtual int64_t size() const = 0;

  // Decodes sample `index` as it is in the source: original size, labels already mapped to classes. Throws BadSample.
  virtual Sample get(int64_t index) const = 0;

  // The files of sample `index` as they are stored, for who keeps, copies or decodes parts of them. Nothing where a sample is
  // not an image file and at most one mask file. Throws BadSample where they cannot be read.
  virtual std::optional<EncodedSample> encoded(int64_t /*index*/) const { return std::nullopt; }

  // How `get` decodes what `encoded` gives; nothing where it does something else. Whoever passes on another data set's
  // `encoded` passes this on too.
  virtual std::optional<SampleCoding> coding() const { return std::nullopt; }

  // The name of a sample, without reading it.
  virtual std::string id(int64_t index) const = 0;

  virtual const ClassTable& classes() const = 0;

  // The file of a sample's image; empty where it is in none.
  virtual std::filesystem::path image_file(int64_t /*index*/) const { return {}; }

  virtual const DataOrigin& origin() const {
    static const DataOrigin nothing_to_say;
    return nothing_to_say;
  }

  // The file of a sample's mask; empty where it has none of its own.
  virtual std::filesystem::path mask_file(int64_t /*index*/) const { return {}; }

  virtual ShardReading shards() const { return {}; }

  // These samples are read next, in this order: what holds them may be fetched meanwhile. Comes back at once.
  virtual void will_need(const std::vector<int64_t>& /*indices*/) const {}

  // Throws UsageError when a look at some samples shows that what the config says of their labels cannot be meant.
  virtual void check_labels() const {}
};

using DatasetPtr = std::shared_ptr<const Dataset>;

}  // namespace tessera
