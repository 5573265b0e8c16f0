#pragma once
#include "loss/loss_term.h"

namespace tessera {

// What a loss of overlaps is computed from, class by class, (K) float64 each.
struct OverlapSums {
  at::Tensor intersection;  // of the class's probability over the pixels labelled so
  at::Tensor predicted;     // of the same over all labelled pixels
  at::Tensor labelled;      // how many pixels are labelled so
};

// The loss at some sums, and its derivatives by the two that depend on predictions.
struct OverlapLoss {
  at::Tensor value;            // scalar: the mean over classes
  at::Tensor by_intersection;  // (K)
  at::Tensor by_predicted;     // (K)
};

// Losses of the overlap between prediction and labels over the global batch: a function of sums over pixels, and then the mean
// over the classes that the labels of the global batch have. Of classes that overlap the probability is each class's own
// sigmoid.
class OverlapTerm : public LossTerm {
 public:
  // Classes before `first_class` are left out: with two classes from one logit, the loss is that of class 1.
  explicit OverlapTerm(int first_class, bool multi_label = false) : first_class_(first_class), multi_label_(multi_label) {}

  int64_t num_prediction_sums(int num_classes) const final { return 2 * num_classes; }

  // (2, K) float64: `intersection` and `predicted` of this micro-batch.
  at::Tensor prediction_sums(const PixelScores& scores) const final;

  // With context.prediction_sums undefined, `scores` are the whole global batch.
  at::Tensor value(const PixelScores& scores, const LossContext& context) const final;

 protected:
  // class_weight: (K), of each class in the mean: 1 / number of present classes, or 0. `value` must be differentiable.
  virtual OverlapLoss loss_of(const OverlapSums& sums, const at::Tensor& class_weight) const = 0;

 private:
  OverlapLoss loss_at(const at::Tensor& prediction_sums, const at::Tensor& label_counts) const;

  int first_class_;
  bool multi_label_;
};

}  // namespace tessera
