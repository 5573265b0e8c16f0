#pragma once
#include "loss/loss_term.h"

namespace tessera {

// Focal loss (Lin et al., ICCV 2017) without alpha: the mean over labelled pixels of -(1 - p)^gamma log p, p being the
// probability of the pixel's label.
class FocalTerm final : public PixelMeanTerm {
 public:
  explicit FocalTerm(double gamma) : gamma_(gamma) {}

  std::string_view name() const override { return "focal"; }
  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  double gamma_;
};

}  // namespace tessera
