#pragma once
#include "loss/loss.h"
#include "loss/pixel_scores.h"

namespace tessera {

// One summand of a loss, before its weight. See Note [Exact over micro-batches]; docs/training.md says how to add one.
class LossTerm {
 public:
  virtual ~LossTerm() = default;

  // float64 scalar with gradient: this micro-batch's part of the term's value for the global batch. context.prediction_sums are
  // the term's own, as one row of numbers, or undefined where `scores` are of the whole global batch.
  virtual at::Tensor value(const PixelScores& scores, const LossContext& context) const = 0;

  // How many sums over the predictions of the global batch the gradient depends on; 0: none.
  virtual int64_t num_prediction_sums(int num_classes) const = 0;
  // float64: that many sums over this micro-batch, in any shape. Undefined for a term that needs none.
  virtual at::Tensor prediction_sums(const PixelScores& scores) const = 0;

  // Whether `value` can do with scores that have a fused classifier in place of logits.
  virtual bool supports_fused_classifier() const { return false; }
};

// A term that is a mean over pixels: it needs no more than the counts of the labels.
class PixelMeanTerm : public LossTerm {
 public:
  int64_t num_prediction_sums(int) const final { return 0; }
  at::Tensor prediction_sums(const PixelScores&) const final { return {}; }
};

}  // namespace tessera
