#pragma once
#include "kernels/common/simd_math.h"
#include "kernels/loss/band.h"

namespace tessera::TSR_SIMD {

// The target of one pixel: up to two labels with their weights in the cross entropy.
template <class T>
struct PixelTargets {
  int count = 0;
  int16_t label[2];
  T weight[2];  // of -log p at the label
  T labelled;   // weight of the labels together: 1, or less where one of two mixed labels is ignored
  T mass;       // of all -log p together: the weight of the log of the sum of exponentials
};

// Reads the pixel's targets; false: it does not count.
template <class T>
TSR_INLINE bool read_targets(SoftmaxBand<T>& band, int64_t pixel, PixelTargets<T>& to) {
  to.count = 0;
  to.labelled = to.mass = 0;
  const bool mixed = band.other_labels != nullptr;
  for (int i = 0; i < (mixed ? 2 : 1); ++i) {
    const int16_t label = i == 0 ? band.labels[pixel] : band.other_labels[pixel];
    if (label == band.ignore) continue;
    if (label < 0 || label >= band.classes) {
      band.bad_label = true;
      continue;
    }
    const T part = !mixed ? T(1) : i == 0 ? band.mix_weight : T(1) - band.mix_weight;
    to.label[to.count] = label;
    if (band.task == SoftmaxTask::kCrossEntropy) {
      to.weight[to.count] = part * band.target_weight[label];
      to.mass += to.weight[to.count] + part * band.spread_total;
    }
    to.labelled += part;
    ++to.count;
  }
  return to.count > 0;
}

// Adds up weight * ln(x), a vector of logarithms at a time.
template <class T, int L>
class WeightedLogs {
 public:
  TSR_INLINE void add(T x, T weight, double& sum) {
    x_[count_] = x;
    weight_[count_] = weight;
    if (++count_ == kHeld) flush(sum);
  }
  void flush(double& sum) {
    for (; count_ % L != 0; ++count_) {
      x_[count_] = 1;
      weight_[count_] = 0;
    }
    double all = 0;
    for (int i = 0; i < count_; i += L) {
      const V<T, L> term = load<T, L>(weight_ + i) * log_positive<T, L>(load<T, L>(x_ + i));
      all += sum_lanes<double, L>(__builtin_convertvector(term, V<double, L>));
    }
    sum += all;
    count_ = 0;
  }

 private:
  static constexpr int kHeld = 64;
  T x_[kHeld], weight_[kHeld];
  int count_ = 0;
};

}  // namespace tessera::TSR_SIMD
