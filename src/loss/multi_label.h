#pragma once
#include <vector>

#include "loss/loss_term.h"
#include "loss/pixel_weights.h"
#include "tensor/constant.h"

namespace tessera {

// What losses of classes that overlap share: each class is a question of its own, answered by the sigmoid of its logit. Labels
// are those of Note [Multi-label maps]. All of it is plain tensor operations, on the upsampled logits.

// (num_classes + 1) float64: how many pixels have each class, then how many are labelled; where mixed by their weights.
at::Tensor count_class_bits(const Targets& targets, int num_classes);

// (N, K, H, W) of `type`: 1 where a pixel has the class, else 0. An ignored pixel has them all.
at::Tensor class_targets(const at::Tensor& labels, int64_t num_classes, at::ScalarType type);

// (K) float64 that add up to 1, or undefined where there are no weights. Weights that are all 0 stay so: then nothing is
// learned, rather than NaN.
at::Tensor class_shares(std::vector<double> weights);

// (N, K, H, W): -log of the probability of the right answer for each pixel and class, as
// torch.nn.functional.binary_cross_entropy_with_logits has it; 0 where a pixel is ignored. logits: (N, K, H, W), labels:
// (N, H, W). Smoothing moves the targets 0 and 1 by half of it towards each other.
at::Tensor sigmoid_nll(const at::Tensor& logits, const at::Tensor& labels, double label_smoothing = 0);

// (2, K) float64, see DiceTerm: the sums of each class's probability over the pixels that have it and over all labelled ones.
at::Tensor sigmoid_sums(const PixelScores& scores);

// Binary cross entropy of each class, the mean over pixels (see CrossEntropyConfig::mean) and classes, where these have weights
// a weighted one. Weights of pixels multiply what is summed and not what it is divided by.
class SigmoidCrossEntropyTerm final : public PixelMeanTerm {
 public:
  // class_weights: one per class, or empty for all 1.
  SigmoidCrossEntropyTerm(const std::vector<double>& class_weights, double label_smoothing, LossMean mean = LossMean::kLabelled,
                          PixelWeights pixel_weights = {});

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  Constant class_weights_;  // (K) float64 that add up to 1, undefined: all alike
  double label_smoothing_;
  LossMean mean_;
  PixelWeights pixel_weights_;
};

}  // namespace tessera
