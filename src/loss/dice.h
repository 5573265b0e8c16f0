#pragma once
#include "loss/loss_term.h"

namespace tessera {

// Soft Dice over the global batch: per class 1 - (2 I + s) / (T + P + s), with I the sum of the class's probability over the
// pixels labelled so, P the same over all labelled pixels and T the count of the pixels labelled so; then the mean over
// the classes that the labels of the global batch have. Of classes that overlap the probability is each class's own sigmoid.
class DiceTerm final : public LossTerm {
 public:
  // Classes before `first_class` are left out: with two classes from one logit, Dice is that of class 1.
  DiceTerm(double smooth, int first_class, bool multi_label = false)
      : smooth_(smooth), first_class_(first_class), multi_label_(multi_label) {}

  int64_t num_prediction_sums(int num_classes) const override { return 2 * num_classes; }

  // (2, K) float64: I and P of this micro-batch.
  at::Tensor prediction_sums(const PixelScores& scores) const override;

  // With context.prediction_sums undefined, `scores` are the whole global batch.
  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  double smooth_;
  int first_class_;
  bool multi_label_;
};

}  // namespace tessera
