#pragma once
#include "loss/overlap_term.h"

namespace tessera {

// Soft Dice over the global batch: per class 1 - (2 I + s) / (T + P + s), with I, P and T the sums of OverlapSums; then the
// mean over the classes that the labels of the global batch have.
class DiceTerm final : public OverlapTerm {
 public:
  DiceTerm(double smooth, int first_class, bool multi_label = false) : OverlapTerm(first_class, multi_label), smooth_(smooth) {}

 protected:
  OverlapLoss loss_of(const OverlapSums& sums, const at::Tensor& class_weight) const override;

 private:
  double smooth_;
};

}  // namespace tessera
