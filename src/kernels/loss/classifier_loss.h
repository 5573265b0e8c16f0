#pragma once
#include <ATen/core/Tensor.h>

#include <variant>

#include "kernels/loss/upsample_loss.h"

namespace tessera {

// Features and the 1x1 convolution that makes logits of them: what a model gives in place of logits to a loss that computes the
// convolution in its own kernel, as a fused classifier.
struct PixelClassifier {
  at::Tensor features;  // (N, C, H, W)
  at::Tensor weight;    // (K, C, 1, 1)
  at::Tensor bias;      // (K)

  bool defined() const { return features.defined(); }
  // Whether `classifier_cross_entropy` takes them: half-precision features in channels_last, 8 to 128 channels in eights, up to
  // 256 classes (160 above 64 channels).
  bool fits() const;
};

// What a loss is computed from: logits (N, K, h, w), or the fused classifier that makes them.
using ClassScores = std::variant<at::Tensor, PixelClassifier>;

// `scale` times what upsample_cross_entropy gives for the logits, with gradients for features, weight and bias; the logits, in
// float32, are never stored. `scale`: a float64 number on the features' device. Labels have the features' size; options must
// not have other labels. Both directions are computed at once, so autograd can go back only once.
at::Tensor classifier_cross_entropy(const PixelClassifier& classifier, const at::Tensor& labels,
                                    const CrossEntropyOptions& options, const at::Tensor& scale);

}  // namespace tessera
