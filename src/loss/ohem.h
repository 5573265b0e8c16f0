#pragma once
#include "config/loss_term_config.h"
#include "loss/loss_term.h"
#include "loss/weighted_mean.h"

namespace tessera {

// Cross entropy of the hard pixels of each image, see OhemConfig. Which pixels are hard is a question within an image, so it
// does not depend on the other images of a micro-batch; how many they are in the global batch is a sum over predictions.
// Where images are mixed it is the blend of the losses by both labels, each with its own hard pixels.
class OhemTerm final : public LossTerm {
 public:
  explicit OhemTerm(const OhemConfig& options);

  // With OhemMean::kKept the weights of the pixels that count.
  int64_t num_prediction_sums(int) const override { return options_.mean == OhemMean::kKept ? 1 : 0; }
  at::Tensor prediction_sums(const PixelScores& scores) const override;

  at::Tensor value(const PixelScores& scores, const LossContext& context) const override;

 private:
  at::Tensor hard(const at::Tensor& nll, const at::Tensor& labels) const;
  at::Tensor divisor(const PixelScores& scores, const LossContext& context) const;

  OhemConfig options_;
  WeightedMean weighted_;
};

}  // namespace tessera
