#pragma once
#include <ATen/core/Tensor.h>

#include <functional>

#include "kernels/common/fused.h"
#include "kernels/loss/classifier_loss.h"
#include "loss/targets.h"

namespace tessera {

// What all terms of a loss look at, made once per micro-batch. Terms with a fused kernel take the logits as they are; for the
// others they are upsampled, once. Not for several threads.
class PixelScores {
 public:
  // logits: (N, C, h, w). To log_probs C = 1 is the logit of class 1 of two classes (sigmoid), else softmax over C.
  PixelScores(const at::Tensor& logits, const Targets& targets);
  // Without logits: for terms that support a fused classifier.
  PixelScores(const PixelClassifier& fused_classifier, const Targets& targets)
      : fused_classifier_(fused_classifier), targets_(targets) {}

  const PixelClassifier& fused_classifier() const { return fused_classifier_; }  // may be undefined
  const at::Tensor& logits() const { return logits_; }
  const Targets& targets() const { return targets_; }
  const at::Tensor& labels() const { return targets_.labels; }

  // Whether kernels/loss/upsample_loss.h can take logits and labels: not for a sigmoid.
  bool fused() const { return use_fused(logits_) && logits_.size(1) > 1; }

  const at::Tensor& log_probs() const;    // (N, K, H, W) float32 or float64, with gradient
  const at::Tensor& full_logits() const;  // the same of the upsampled logits: each class for itself

  // float64 scalar: the sum of what `values` gives for the pixels with labels (N, H, W) int64, where mixed by their weights.
  // Ignored pixels must have 0.
  at::Tensor sum(const std::function<at::Tensor(const at::Tensor& labels)>& values) const;

  // (K) float64: the same class by class, of values (N, K, H, W).
  at::Tensor class_sums(const std::function<at::Tensor(const at::Tensor& labels)>& values) const;

  at::Tensor labelled() const;  // float64 scalar: how many pixels are, where mixed by their weights

 private:
  at::Tensor upsampled() const;

  PixelClassifier fused_classifier_;
  at::Tensor logits_;
  Targets targets_;
  mutable at::Tensor log_probs_, full_logits_;  // made when first asked for
};

// Sum of all values as float64. Values are first summed within each image, so that the sums of an image do not depend on which
// others are in the micro-batch. weights: (N) float64 of the images, or undefined: all 1.
at::Tensor sum_images(const at::Tensor& values, const at::Tensor& weights = {});

// (num_classes) float64: how many pixels have each label, where mixed by their weights. Labels that are no class count nowhere.
at::Tensor count_labels(const Targets& targets, int num_classes);

// Throws Error when a label is neither below `end` (see label_limit) nor kIgnoreLabel. For labels on the CPU, as the loader
// gives them: on a GPU looking would mean waiting.
void check_label_range(const at::Tensor& labels, int end);

}  // namespace tessera
