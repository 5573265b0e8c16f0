#pragma once
#include "config/loss_term_config.h"
#include "loss/overlap_term.h"

namespace tessera {

// Tversky's index over the global batch: per class (1 - (I + s) / (I + alpha (P - I) + beta (T - I) + s))^gamma, with I, P and
// T the sums of OverlapSums, so that P - I are the false positives and T - I the false negatives; then the mean over the
// classes that the labels of the global batch have.
class TverskyTerm final : public OverlapTerm {
 public:
  TverskyTerm(const TverskyConfig& options, int first_class, bool multi_label = false)
      : OverlapTerm(first_class, multi_label), options_(options) {}

 protected:
  OverlapLoss loss_of(const OverlapSums& sums, const at::Tensor& class_weight) const override;

 private:
  TverskyConfig options_;
};

}  // namespace tessera
