#include "data/datasets/encoded_dataset.h"

#include <utility>

#include "data/datasets/load_sample.h"

namespace tessera {

EncodedDataset::EncodedDataset(ClassTable classes, LabelConfig rules, DecodeOptions options, DataOrigin origin)
    : classes_(std::move(classes)), rules_(std::move(rules)), options_(std::move(options)), origin_(std::move(origin)) {}

Sample EncodedDataset::get(int64_t index) const {
  return decode(encoded(index).value());
}

Sample EncodedDataset::decode(const EncodedSample& stored) const {
  Sample sample = load_image_sample(stored.id, stored.image.bytes, stored.image_name, options_);
  if (!origin_.labelled) return sample;
  LabelMap labels = load_labels(stored.id, stored.labels.bytes, stored.labels_name, rules_, classes_.size(), options_);
  attach_labels(sample, std::move(labels), stored.image_name, stored.labels_name);
  return sample;
}

}  // namespace tessera
