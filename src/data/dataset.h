#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/error.h"
#include "data/encoded_sample.h"
#include "data/sample.h"

namespace tessera {

// Where the samples of a data set come from, for the line that says what was taken as what.
struct DataOrigin {
  std::string text = {};                // "images/train"; empty: nothing to say
  bool labelled = true;                 // false: there are no masks, and samples come without labels
  std::vector<std::string> notes = {};  // what was found beside the samples and left out, a sentence each
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

  // What `get` makes of that. Only of what `encoded` of this data set gave.
  virtual Sample decode(const EncodedSample& stored) const {
    fail("{}: the samples of this data set are not files", stored.id);
  }

  // What tells the bytes that sample `index` is read from apart from others, and from themselves after a change, without
  // reading them; for caches. Empty: not known, the sample is not kept.
  virtual std::string stored_version(int64_t /*index*/) const { return {}; }

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

  // Throws UsageError when a look at some samples shows that what the config says of their labels cannot be meant.
  virtual void check_labels() const {}
};

using DatasetPtr = std::shared_ptr<const Dataset>;

}  // namespace tessera
