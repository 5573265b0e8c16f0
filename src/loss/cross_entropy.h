#pragma once
#include <vector>

#include "loss/loss_term.h"
#include "loss/pixel_weights.h"
#include "loss/weighted_mean.h"

namespace tessera {

// Cross entropy as torch.nn.CrossEntropyLoss defines it: the mean over labelled pixels, weighted by the weight of the pixel's
// class; label smoothing mixes in the (class-weighted) mean of -log p over all classes. Or, with LossMean::kAll, the same sum
// divided by the number of all pixels, as mmsegmentation's CrossEntropyLoss does unless avg_non_ignore is set. Weights of
// pixels multiply what is summed and not what it is divided by: a pixel of weight 2 counts as two beside the others.
class CrossEntropyTerm final : public PixelMeanTerm {
 public:
  // class_weights: one per class, or empty for all 1.
  CrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing, LossMean mean = LossMean::kLabelled,
                   PixelWeights pixel_weights = {});

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;
  bool supports_fused_classifier() const override { return !pixel_weights_; }

 private:
  at::Tensor sum(const PixelScores& scores, const at::Tensor& class_weights) const;  // over the pixels of the micro-batch
  at::Tensor weighted(const at::Tensor& values, const at::Tensor& labels) const;     // (N, H, W) both

  WeightedMean mean_;
  double label_smoothing_;
  PixelWeights pixel_weights_;
};

}  // namespace tessera
