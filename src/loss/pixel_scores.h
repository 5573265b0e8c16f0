#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/classifier_loss.h"
#include "kernels/fused.h"

namespace tessera {

// What all terms of a loss look at, made once per micro-batch. Terms with a fused kernel take the logits as they are; for the
// others they are upsampled, once. Not for several threads.
class PixelScores {
 public:
  // logits: (N, C, h, w); labels: (N, H, W). C = 1 is the logit of class 1 of two classes (sigmoid), else softmax over C.
  PixelScores(const at::Tensor& logits, const at::Tensor& labels);
  // Without logits: for terms that take the classifier.
  PixelScores(const PixelClassifier& classifier, const at::Tensor& labels) : classifier_(classifier), labels_(labels) {}

  const PixelClassifier& classifier() const { return classifier_; }  // may be undefined
  const at::Tensor& logits() const { return logits_; }
  const at::Tensor& labels() const { return labels_; }

  // Whether kernels/upsample_loss.h can take logits and labels: not for a sigmoid.
  bool fused() const { return takes_fused_kernels(logits_) && logits_.size(1) > 1; }

  const at::Tensor& log_probs() const;     // (N, K, H, W) float32 or float64, with gradient
  const at::Tensor& class_labels() const;  // (N, H, W) int64, kIgnoreLabel where ignored
  const at::Tensor& ignored() const;       // (N, H, W) bool

 private:
  PixelClassifier classifier_;
  at::Tensor logits_, labels_;
  mutable at::Tensor log_probs_, class_labels_, ignored_;  // made when first asked for
};

// Sum of all values as float64. Values are first summed within each image, so that the sums of an image do not depend on which
// others are in the micro-batch.
at::Tensor sum_images(const at::Tensor& values);

// (num_classes) float64: how many pixels have each label. On a CPU checks their range.
at::Tensor count_labels(const at::Tensor& labels, int num_classes);

// Throws Error when a label is neither a class nor kIgnoreLabel.
void check_label_range(const at::Tensor& labels, int num_classes);

}  // namespace tessera
