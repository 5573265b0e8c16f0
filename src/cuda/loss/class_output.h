#pragma once
#include "cuda/common/launch.h"

namespace tessera {

// Counts pairs of label and class; neighbours mostly share theirs, so equal ones in a row are added at once.
class PairCounter {
 public:
  __device__ explicit PairCounter(unsigned long long* to) : to_(to) {}
  __device__ void add(int64_t pair) {
    if (pair != pair_) flush();
    pair_ = pair;
    ++count_;
  }
  // Whole numbers: the order in which threads add them does not matter.
  __device__ void flush() {
    if (count_ > 0) atomicAdd(to_ + pair_, count_);
    count_ = 0;
  }

 private:
  unsigned long long* to_;
  int64_t pair_ = -1;
  unsigned long long count_ = 0;
};

// Where the classes of pixels go: to `classes` (N, H, W), or as (label, class) pairs to `confusion` (C * C + 1), whose last is
// for labels that are no class.
struct ClassOutput {
  int16_t* classes;
  const int16_t* labels;
  int ignore, count;  // of classes
  unsigned long long* confusion;

  __device__ __forceinline__ void take(int64_t pixel, int found, PairCounter& pairs) const {
    if (classes != nullptr) classes[pixel] = static_cast<int16_t>(found);
    if (confusion == nullptr || labels[pixel] == ignore) return;
    const int label = labels[pixel];
    const bool valid = label >= 0 && label < count;
    pairs.add(valid ? static_cast<int64_t>(label) * count + found : static_cast<int64_t>(count) * count);
  }
};

}  // namespace tessera
