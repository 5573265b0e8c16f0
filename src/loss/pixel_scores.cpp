#include "loss/pixel_scores.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/image.h"
#include "kernels/label_counts.h"

namespace tessera {

PixelScores::PixelScores(const at::Tensor& logits, const at::Tensor& labels) : logits_(logits), labels_(labels) {
  TSR_CHECK(logits.dim() == 4 && labels.dim() == 3 && logits.size(0) == labels.size(0),
            "expected logits (N, C, h, w) and labels (N, H, W) of the same images, got {} and {}",
            fmt::join(logits.sizes(), " x "), fmt::join(labels.sizes(), " x "));
}

const at::Tensor& PixelScores::class_labels() const {
  if (!class_labels_.defined()) class_labels_ = labels_.to(at::kLong);
  return class_labels_;
}

const at::Tensor& PixelScores::ignored() const {
  if (!ignored_.defined()) ignored_ = labels_.eq(kIgnoreLabel);
  return ignored_;
}

const at::Tensor& PixelScores::log_probs() const {
  if (log_probs_.defined()) return log_probs_;
  at::Tensor full = logits_.scalar_type() == at::kDouble ? logits_ : logits_.to(at::kFloat);
  const auto label_hw = labels_.sizes().slice(1);
  if (full.sizes().slice(2) != label_hw) full = at::upsample_bilinear2d(full, label_hw, /*align_corners=*/false);
  // The sigmoid of one logit x is the softmax of (0, x): binary losses are the two-class ones from here on.
  log_probs_ = full.size(1) == 1 ? at::cat({at::log_sigmoid(-full), at::log_sigmoid(full)}, 1) : at::log_softmax(full, 1);
  return log_probs_;
}

at::Tensor sum_images(const at::Tensor& values) {
  return values.flatten(1).sum(1).to(at::kDouble).sum();
}

at::Tensor count_labels(const at::Tensor& labels, int num_classes) {
  if (labels.is_cpu()) check_label_range(labels, num_classes);  // on a GPU looking would mean waiting
  // Whole numbers below 2^53: float64 sums of them are exact in any order.
  return label_counts(labels, num_classes).narrow(0, 0, num_classes).to(at::kDouble);
}

void check_label_range(const at::Tensor& labels, int num_classes) {
  if (labels.numel() == 0) return;
  const auto [low, high] = at::aminmax(labels);
  TSR_CHECK(low.item<int64_t>() >= kIgnoreLabel && high.item<int64_t>() < num_classes,
            "expected labels in {}..{}, got {}..{}; check the number of classes and the label mapping", kIgnoreLabel,
            num_classes - 1, low.item<int64_t>(), high.item<int64_t>());
}

}  // namespace tessera
