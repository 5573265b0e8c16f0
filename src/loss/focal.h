#pragma once
#include "loss/loss_term.h"

namespace tessera {

// Focal loss (Lin et al., ICCV 2017) without alpha: the mean over pixels of -(1 - p)^gamma log p, p being the probability of
// the pixel's label; see FocalConfig::mean. Of classes that overlap the mean over pixels and classes, p being the probability
// that the class is there where it is, and that it is not where it is not.
class FocalTerm final : public PixelMeanTerm {
 public:
  explicit FocalTerm(double gamma, LossMean mean = LossMean::kLabelled, bool multi_label = false)
      : gamma_(gamma), mean_(mean), multi_label_(multi_label) {}

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  double gamma_;
  LossMean mean_;
  bool multi_label_;
};

}  // namespace tessera
