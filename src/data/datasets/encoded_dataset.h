#pragma once
#include "config/data_config.h"
#include "data/dataset.h"
#include "data/decode/decode.h"

namespace tessera {

// A data set whose samples are stored as an image file and a mask file each, wherever these lie: derived classes say where.
// What decodes them is the same for all.
class EncodedDataset : public Dataset {
 public:
  EncodedDataset(ClassTable classes, LabelConfig rules, DecodeOptions options, DataOrigin origin);

  Sample get(int64_t index) const override;
  std::optional<SampleCoding> coding() const override { return SampleCoding{&options_, &rules_, origin_.labelled}; }
  const ClassTable& classes() const override { return classes_; }
  const DataOrigin& origin() const override { return origin_; }

  // How `get` reads what `encoded` gives, for who does that in parts.
  const LabelConfig& rules() const { return rules_; }
  const DecodeOptions& options() const { return options_; }

 protected:
  ClassTable classes_;
  LabelConfig rules_;
  DecodeOptions options_;
  DataOrigin origin_;
};

}  // namespace tessera
