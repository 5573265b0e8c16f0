#pragma once
#include <ATen/core/Tensor.h>

#include <utility>

namespace tessera {

// What pixels should be: a class each or, of samples that MixUp blended, two classes with the weight of each. An ignored label
// has no weight, so a pixel may count as a part of one; what the parts add up to is what means are divided by.
struct Targets {
  Targets() = default;
  Targets(at::Tensor labels_) : labels(std::move(labels_)) {}  // NOLINT: labels are targets
  Targets(at::Tensor labels_, at::Tensor other_, at::Tensor mix_weight_)
      : labels(std::move(labels_)), other(std::move(other_)), mix_weight(std::move(mix_weight_)) {}

  at::Tensor labels;      // (N, H, W) integers, kIgnoreLabel where ignored
  at::Tensor other;       // the same, or undefined
  at::Tensor mix_weight;  // (N) float64 on the labels' device: of `labels`; `other` has the rest

  bool mixed() const { return other.defined(); }
  Targets narrow(int64_t begin, int64_t count) const {
    if (!mixed()) return labels.narrow(0, begin, count);
    return {labels.narrow(0, begin, count), other.narrow(0, begin, count), mix_weight.narrow(0, begin, count)};
  }
};

}  // namespace tessera
