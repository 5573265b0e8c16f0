#pragma once
#include <new>
#include <stdexcept>

#include "data/dataset.h"

namespace tessera::testing {

// Samples kept in memory; one without pixels is a bad one.
class FixedDataset : public Dataset {
 public:
  explicit FixedDataset(std::vector<Sample> samples) : samples_(std::move(samples)) {
    classes_.names = {"background", "a", "b"};
    classes_.palette = {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}};
  }
  int64_t size() const override { return static_cast<int64_t>(samples_.size()); }
  Sample get(int64_t i) const override {
    const Sample& sample = samples_.at(static_cast<size_t>(i));
    if (sample.id == "too large") throw std::bad_alloc();
    if (sample.id == "odd") throw std::runtime_error("not foreseen");
    if (sample.image.count() == 0) throw BadSample(sample.id, "cut off");
    return sample;
  }
  std::string id(int64_t i) const override { return samples_.at(static_cast<size_t>(i)).id; }
  const ClassTable& classes() const override { return classes_; }

 private:
  std::vector<Sample> samples_;
  ClassTable classes_;
};

// One row: pixel values and labels given.
inline Sample row_sample(const std::string& id, std::vector<uint8_t> values, std::vector<int16_t> labels) {
  Sample sample;
  sample.id = id;
  sample.image = Image(1, static_cast<int>(values.size()), 1);
  sample.image.bytes() = std::move(values);
  sample.labels = LabelMap(1, static_cast<int>(labels.size()));
  sample.labels->labels = std::move(labels);
  return sample;
}

inline Sample bad_sample(const std::string& id) {
  Sample sample;
  sample.id = id;
  return sample;
}

}  // namespace tessera::testing
