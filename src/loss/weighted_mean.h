#pragma once
#include <vector>

#include "config/loss_term_config.h"
#include "loss/loss.h"
#include "tensor/constant.h"

namespace tessera {

// The mean over pixels that have a class each, where classes have weights: what the pixels' values are multiplied by, and what
// their sum is divided by.
//
// Weights such as one over a class's count of pixels would leave nothing of half-precision gradients. So all are multiplied by
// one power of two, and so is what the sum is divided by: the largest becomes 1 to 2, and no bit of a result changes.
class WeightedMean {
 public:
  // class_weights: one per class, or empty for all 1.
  WeightedMean(const std::vector<double>& class_weights, LossMean mean);

  at::Tensor class_weights(at::Device device) const { return class_weights_.on(device); }  // (K) float64, undefined: all 1

  // float64 scalar: the weights of the labelled pixels of the global batch, or the number of all its pixels. 1 where that is 0:
  // without labelled pixels the sum is 0, and so value and gradient stay 0.
  at::Tensor divisor(const LossContext& context) const;

 private:
  Constant class_weights_;
  double scale_;  // of class_weights_ to those that were given
  LossMean mean_;
};

}  // namespace tessera
