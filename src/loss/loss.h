#pragma once
#include <ATen/core/Tensor.h>

#include <memory>

#include "config/loss_config.h"
#include "kernels/loss/classifier_loss.h"
#include "loss/targets.h"

namespace tessera {

// Note [Exact over micro-batches]
// The loss of a step is a function of the global batch, however it is cut into micro-batches and ranks:
//
//   LossContext context = loss->prepare(targets);                   // then all-reduce context.sums over ranks,
//                                                                   // and set context.batch_pixels where they are several
//   if (loss->needs_prediction_sums() && more than one micro-batch or rank)
//     for each micro-batch                                          // without gradient
//       context.add_predictions(loss->prediction_sums(logits, targets));
//                                                                   // then all-reduce context.prediction_sums
//   for each micro-batch
//     loss->micro_loss(logits, targets, context).value.backward();
//
// The values then add up to the loss of the global batch and the gradients to its gradient. Cross entropy divides by counts
// of labels, which are known before any forward pass. Dice and Tversky are ratios of sums over predictions, so they are
// replaced by their linearisation at the global sums: the same gradient, and additive. OHEM divides by the number of hard
// pixels, a sum over predictions too; which pixels are hard, and the order in which Lovasz takes them, are questions within an
// image. Each term that needs such sums has its own part of them. One micro-batch per rank needs no second forward pass: its
// logits serve both loops. A model's auxiliary logits have sums of their own: copy the context for each output.

// Sums over the labels, and where needed the predictions, of the global batch.
struct LossContext {
  // (num_classes) float64: labelled pixels per class, or parts of them. Of classes that overlap they do not add up to the
  // labelled pixels, whose number then follows them.
  at::Tensor sums;
  at::Tensor prediction_sums;  // float64, one row, term after term; undefined: the micro-batch is the global batch
  int64_t pixels = 0;          // of the labels `prepare` saw, ignored ones included
  int64_t batch_pixels = 0;    // of the labels of the global batch; 0: those are the ones that `prepare` saw
  bool multi_label = false;    // classes overlap

  void add_predictions(const at::Tensor& sums);
  at::Tensor class_pixels() const;  // (num_classes) float64: `sums` of the classes alone
  at::Tensor divisor() const;       // float64 scalar: all labelled pixels, or 1 where there is none
  at::Tensor all_pixels() const;    // float64 scalar: of the global batch
};

// A micro-batch's part of the loss of the global batch.
struct LossValue {
  at::Tensor value;  // float64 scalar with gradient: what to call backward on
};

// Logits are (N, C, h, w) of any float type, at the model's own resolution: they are upsampled (bilinear, align_corners false)
// to the size of the labels. Labels are (N, H, W) integers: 0 .. num_classes - 1, or sets of classes that overlap (Note
// [Multi-label maps]), or kIgnoreLabel, as check_label_range made sure of. Computes in float32, or float64 for float64 logits.
// A batch without a labelled pixel has loss 0 and gradient 0. Immutable, so threads may share one.
class Loss {
 public:
  virtual ~Loss() = default;

  // targets: all of this rank's part of the global batch.
  virtual LossContext prepare(const Targets& targets) const = 0;

  // Whether gradients depend on sums over the predictions of the whole global batch.
  virtual bool needs_prediction_sums() const = 0;
  virtual at::Tensor prediction_sums(const at::Tensor& logits, const Targets& targets) const = 0;

  // scores: logits or, where this loss supports it, a fused classifier.
  virtual LossValue micro_loss(const ClassScores& scores, const Targets& targets, const LossContext& context) const = 0;

  // Whether a model may leave its last 1x1 convolution to the loss: then logits at full resolution are never stored.
  virtual bool supports_fused_classifier() const = 0;
};

// The weighted sum of the terms. multi_label: classes overlap, and each logit is that of one of them. Throws UsageError when
// the terms do not fit one another or the classes.
std::unique_ptr<Loss> make_loss(const LossConfig& config, int num_classes, bool multi_label = false);

}  // namespace tessera
