#pragma once
#include <vector>

#include "loss/loss_term.h"
#include "loss/weighted_mean.h"

namespace tessera {

// Focal loss (Lin et al., ICCV 2017): the mean over pixels of -(1 - p)^gamma log p, p being the probability of the pixel's
// label; see FocalConfig::mean. The weights of classes are its alpha. Of classes that overlap the mean over pixels and classes,
// p being the probability that the class is there where it is, and that it is not where it is not.
class FocalTerm final : public PixelMeanTerm {
 public:
  // class_weights: one per class, or empty for all 1.
  explicit FocalTerm(double gamma, LossMean mean = LossMean::kLabelled, bool multi_label = false,
                     const std::vector<double>& class_weights = {});

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  at::Tensor focused(const at::Tensor& nll) const;
  at::Tensor multi_label_value(const PixelScores& scores, const LossContext& context) const;

  double gamma_;
  LossMean mean_;
  bool multi_label_;
  WeightedMean weighted_;
  Constant class_shares_;  // (K) float64 that add up to 1, for classes that overlap; undefined: all alike
};

}  // namespace tessera
