#pragma once
#include "loss/loss_term.h"

namespace tessera {

// Focal loss (Lin et al., ICCV 2017) without alpha: the mean over pixels of -(1 - p)^gamma log p, p being the probability of
// the pixel's label; see FocalConfig::mean.
class FocalTerm final : public PixelMeanTerm {
 public:
  explicit FocalTerm(double gamma, LossMean mean = LossMean::kLabelled) : gamma_(gamma), mean_(mean) {}

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  double gamma_;
  LossMean mean_;
};

}  // namespace tessera
