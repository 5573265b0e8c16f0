#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "data/check/sample_classes.h"

namespace tessera {

// The labels of one data set, counted once for all who ask: class weights and balanced sampling, in every run that shares the
// data set. Any thread may ask.
class LabelCounts {
 public:
  // As kept_sample_classes. The settings that decide labels are those that the data set was opened with.
  std::shared_ptr<const std::vector<SampleClasses>> of(const Dataset& dataset, const DataConfig& config, int threads) {
    const std::lock_guard lock(mutex_);
    if (counted_ == nullptr)
      counted_ = std::make_shared<const std::vector<SampleClasses>>(kept_sample_classes(dataset, config, threads));
    return counted_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<const std::vector<SampleClasses>> counted_;
};

}  // namespace tessera
