#pragma once
#include <optional>
#include <string>
#include <vector>

#include "data/datasets/encoded_dataset.h"
#include "data/datasets/pair_matching.h"

namespace tessera {

// Samples that are an image file and a mask file each. An image without a mask is a sample whose `get` throws BadSample,
// unless the origin says that there are no labels.
class PairDataset : public EncodedDataset {
 public:
  PairDataset(std::vector<FilePair> pairs, ClassTable classes, LabelConfig rules, DecodeOptions options,
              DataOrigin origin = {});

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  Sample get(int64_t index) const override;
  std::optional<EncodedSample> encoded(int64_t index) const override;
  std::string id(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).stem; }
  fs::path image_file(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).image; }
  fs::path mask_file(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).mask; }
  void check_labels() const override;  // see refuse_unmarked_objects

 private:
  Sample get_drawn(const FilePair& pair) const;

  std::vector<FilePair> pairs_;
};

}  // namespace tessera
