#include "loss/pixel_scores.h"

#include <ATen/ATen.h>
#include <fmt/ranges.h>

#include "core/error.h"
#include "core/image.h"
#include "kernels/features/resize_bilinear.h"
#include "kernels/loss/label_counts.h"

namespace tessera {

PixelScores::PixelScores(const at::Tensor& logits, const Targets& targets) : logits_(logits), targets_(targets) {
  const at::Tensor& labels = targets.labels;
  TSR_CHECK(logits.dim() == 4 && labels.dim() == 3 && logits.size(0) == labels.size(0),
            "expected logits (N, C, h, w) and labels (N, H, W) of the same images, got {} and {}",
            fmt::join(logits.sizes(), " x "), fmt::join(labels.sizes(), " x "));
}

at::Tensor PixelScores::sum(const std::function<at::Tensor(const at::Tensor& labels)>& values) const {
  const at::Tensor first = sum_images(values(targets_.labels.to(at::kLong)), targets_.mix_weight);
  return targets_.mixed() ? first + sum_images(values(targets_.other.to(at::kLong)), 1 - targets_.mix_weight) : first;
}

at::Tensor PixelScores::labelled() const {
  return sum([](const at::Tensor& labels) { return labels.ne(kIgnoreLabel); });
}

const at::Tensor& PixelScores::log_probs() const {
  if (log_probs_.defined()) return log_probs_;
  const at::Tensor full = upsampled();  // not kept: its memory is not needed beside that of the result
  // The sigmoid of one logit x is the softmax of (0, x): binary losses are the two-class ones from here on.
  log_probs_ = full.size(1) == 1 ? at::cat({at::log_sigmoid(-full), at::log_sigmoid(full)}, 1) : at::log_softmax(full, 1);
  return log_probs_;
}

const at::Tensor& PixelScores::full_logits() const {
  if (!full_logits_.defined()) full_logits_ = upsampled();
  return full_logits_;
}

at::Tensor PixelScores::upsampled() const {
  const at::Tensor floats = logits_.scalar_type() == at::kDouble ? logits_ : logits_.to(at::kFloat);
  return resize(floats, labels().sizes().slice(1), /*align_corners=*/false);
}

at::Tensor PixelScores::class_sums(const std::function<at::Tensor(const at::Tensor& labels)>& values) const {
  const auto of_images = [&](const at::Tensor& labels, const at::Tensor& weights) {
    const at::Tensor sums = values(labels).flatten(2).sum(2).to(at::kDouble);  // (N, K)
    return (weights.defined() ? sums * weights.unsqueeze(1) : sums).sum(0);
  };
  const at::Tensor first = of_images(targets_.labels, targets_.mix_weight);
  return targets_.mixed() ? first + of_images(targets_.other, 1 - targets_.mix_weight) : first;
}

at::Tensor sum_images(const at::Tensor& values, const at::Tensor& weights) {
  const at::Tensor sums = values.flatten(1).sum(1).to(at::kDouble);
  return weights.defined() ? (sums * weights).sum() : sums.sum();
}

at::Tensor count_labels(const Targets& targets, int num_classes) {
  // Whole numbers below 2^53: float64 sums of them are exact in any order.
  if (!targets.mixed()) return label_counts(targets.labels, num_classes).narrow(0, 0, num_classes).to(at::kDouble);
  const auto of_images = [&](const at::Tensor& labels, const at::Tensor& weight) {
    const at::Tensor counts = image_label_counts(labels, num_classes).narrow(1, 0, num_classes).to(at::kDouble);
    return (counts * weight.unsqueeze(1)).sum(0);
  };
  return of_images(targets.labels, targets.mix_weight) + of_images(targets.other, 1 - targets.mix_weight);
}

void check_label_range(const at::Tensor& labels, int end) {
  if (labels.numel() == 0) return;
  const auto [low, high] = at::aminmax(labels);
  TSR_CHECK(low.item<int64_t>() >= kIgnoreLabel && high.item<int64_t>() < end,
            "expected labels in {}..{}, got {}..{}; check the number of classes and the label mapping", kIgnoreLabel, end - 1,
            low.item<int64_t>(), high.item<int64_t>());
}

}  // namespace tessera
