#pragma once
#include <vector>

#include "loss/loss_term.h"
#include "tensor/constant.h"

namespace tessera {

// Cross entropy as torch.nn.CrossEntropyLoss defines it: the mean over labelled pixels, weighted by the weight of the pixel's
// class; label smoothing mixes in the (class-weighted) mean of -log p over all classes. Or, with LossMean::kAll, the same sum
// divided by the number of all pixels, as mmsegmentation's CrossEntropyLoss does unless avg_non_ignore is set.
class CrossEntropyTerm final : public PixelMeanTerm {
 public:
  // class_weights: one per class, or empty for all 1.
  CrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing, LossMean mean = LossMean::kLabelled);

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;
  bool supports_fused_classifier() const override { return true; }

 private:
  at::Tensor divisor(const LossContext& context, const at::Tensor& class_weights) const;
  at::Tensor sum(const PixelScores& scores, const at::Tensor& class_weights) const;  // over the pixels of the micro-batch

  Constant class_weights_;  // (K) float64, undefined: all 1
  double label_smoothing_;
  double weight_scale_;  // of class_weights_ to those that were given
  LossMean mean_;
};

}  // namespace tessera
