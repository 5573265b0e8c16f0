#include "loss/lovasz.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <limits>

#include "core/image.h"
#include "loss/multi_label.h"

namespace tessera {

// With pixels in the order of falling errors the Jaccard loss of the first i of them is 1 - (G - c) / (G + i - c), where G is
// the number of the class's pixels and c how many of them are among the i. The slope of pixel i is what it adds. Written out
// for a pixel of the class (G - c falls by one) and for another (the union G + i - c grows by one) there is no difference of
// nearly equal numbers, which in float32 would be all rounding in an image of some hundred thousand pixels.
at::Tensor lovasz_slopes(const at::Tensor& errors, const at::Tensor& truth, const at::Tensor& ignored) {
  const c10::NoGradGuard no_grad;
  constexpr double kMinusInfinity = -std::numeric_limits<double>::infinity();
  constexpr int64_t kExactInFloat = int64_t{1} << 24;
  const int64_t pixels = errors.size(1);
  const at::ScalarType type = pixels < kExactInFloat ? errors.scalar_type() : at::kDouble;
  const at::Tensor order = std::get<1>(
      errors.detach().masked_fill(ignored.unsqueeze(0), kMinusInfinity).sort(/*stable=*/true, 1, /*descending=*/true));
  const at::Tensor own = truth.logical_and(ignored.logical_not().unsqueeze(0)).gather(1, order);
  const at::Tensor found = own.cumsum(1, at::kInt).to(type);  // c; whole numbers are summed alike on every device
  const at::Tensor place = at::arange(1, pixels + 1, found.options()).unsqueeze(0);
  const at::Tensor count = found.narrow(1, pixels - 1, 1);  // G
  const at::Tensor joined = count + place - found;
  const at::Tensor of_others = (count - found) / (joined * (joined - 1).clamp_min(1));
  // Without a pixel of the class the loss is 1 from the first pixel on.
  const at::Tensor slopes =
      at::where(count.gt(0), at::where(own, joined.reciprocal(), of_others), place.eq(1).to(type).expand_as(found));
  return at::zeros_like(errors).scatter_(1, order, slopes.to(errors.scalar_type())).masked_fill_(ignored.unsqueeze(0), 0.0);
}

// scores: (K, H, W) logits, or of softmax log-probabilities. labels: (H, W) int64.
at::Tensor LovaszTerm::image_loss(const at::Tensor& scores, const at::Tensor& labels) const {
  const int64_t classes = scores.size(0);
  const at::Tensor ignored = labels.eq(kIgnoreLabel).flatten(), flat = scores.flatten(1);
  if (form_ == LovaszForm::kSoftmax) {
    const at::Tensor truth = labels.flatten().unsqueeze(0).eq(at::arange(classes, labels.options()).unsqueeze(1));
    const at::Tensor p = flat.exp(), errors = at::where(truth, 1 - p, p);
    const at::Tensor losses = (lovasz_slopes(errors, truth, ignored) * errors).sum(1).to(at::kDouble);
    if (absent_classes_) return losses.mean();
    const at::Tensor present = truth.any(1).to(at::kDouble);
    return (losses * present).sum() / present.sum().clamp_min(1.0);
  }
  const at::Tensor truth = form_ == LovaszForm::kMultiHinge
                               ? class_targets(labels.unsqueeze(0), classes, at::kBool).squeeze(0).flatten(1)
                               : labels.flatten().unsqueeze(0).eq(1);
  const at::Tensor errors = at::where(truth, 1 - flat, 1 + flat);
  return (lovasz_slopes(errors, truth, ignored) * errors.relu()).sum(1).to(at::kDouble).mean();
}

at::Tensor LovaszTerm::value(const PixelScores& scores, const LossContext& context) const {
  const Targets& targets = scores.targets();
  const at::Tensor& values = form_ == LovaszForm::kSoftmax ? scores.log_probs() : scores.full_logits();
  const auto pixels = static_cast<double>(targets.labels.size(1) * targets.labels.size(2));
  at::Tensor total = at::zeros({}, values.options().dtype(at::kDouble));
  for (int64_t i = 0; i < values.size(0); ++i) {
    const auto loss_by = [&](const at::Tensor& labels) { return image_loss(values[i], labels[i].to(at::kLong)); };
    if (targets.mixed()) {
      const at::Tensor weight = targets.mix_weight[i];
      total = total + weight * loss_by(targets.labels) + (1 - weight) * loss_by(targets.other);
    } else {
      total = total + loss_by(targets.labels);
    }
  }
  return total * pixels / context.all_pixels();
}

}  // namespace tessera
