#pragma once
#include <string_view>

#include "loss/loss.h"
#include "loss/pixel_scores.h"

namespace tessera {

// One summand of a loss, e.g. Dice in ce_dice. See Note [Exact over micro-batches].
class LossTerm {
 public:
  virtual ~LossTerm() = default;

  virtual std::string_view name() const = 0;

  // float64 scalar with gradient: this micro-batch's share of the term's value for the global batch.
  virtual at::Tensor value(const PixelScores& scores, const LossContext& context) const = 0;

  // Undefined for a term that needs none.
  virtual at::Tensor prediction_sums(const PixelScores& scores) const = 0;
  virtual bool needs_prediction_sums() const = 0;

  // Whether `value` can do with scores that have a fused classifier in place of logits.
  virtual bool supports_fused_classifier() const { return false; }
};

// A term that is a mean over pixels: it needs no more than the counts of the labels.
class PixelMeanTerm : public LossTerm {
 public:
  at::Tensor prediction_sums(const PixelScores&) const final { return {}; }
  bool needs_prediction_sums() const final { return false; }
};

}  // namespace tessera
