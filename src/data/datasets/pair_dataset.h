#pragma once
#include <string>
#include <vector>

#include "config/data_config.h"
#include "data/dataset.h"
#include "data/datasets/pair_matching.h"
#include "data/decode/decode.h"

namespace tessera {

// Samples that are an image file and a mask file each. An image without a mask is a sample whose `get` throws BadSample,
// unless the origin says that there are no labels.
class PairDataset : public Dataset {
 public:
  PairDataset(std::vector<FilePair> pairs, ClassTable classes, LabelConfig rules, DecodeOptions options,
              DataOrigin origin = {});

  int64_t size() const override { return static_cast<int64_t>(pairs_.size()); }
  Sample get(int64_t index) const override;
  std::string id(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).stem; }
  const ClassTable& classes() const override { return classes_; }
  fs::path image_file(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).image; }
  fs::path mask_file(int64_t index) const override { return pairs_.at(static_cast<size_t>(index)).mask; }
  const DataOrigin& origin() const override { return origin_; }
  void check_labels() const override;  // see refuse_unmarked_objects

 private:
  std::vector<FilePair> pairs_;
  ClassTable classes_;
  LabelConfig rules_;
  DecodeOptions options_;
  DataOrigin origin_;
};

}  // namespace tessera
