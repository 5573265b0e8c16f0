#include "loss/loss.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "core/error.h"
#include "loss/cross_entropy.h"
#include "loss/dice.h"
#include "loss/focal.h"

namespace tessera {
namespace {

bool has_cross_entropy(LossType type) {
  switch (type) {
    case LossType::kCe:
    case LossType::kCeDice:
    case LossType::kBce:
    case LossType::kBceDice: return true;
    case LossType::kDice:
    case LossType::kFocal: return false;
  }
  fail("a loss type that is neither with nor without cross entropy");
}

// The weighted sum of some terms over scores made once.
class SumLoss final : public Loss {
 public:
  SumLoss(int num_classes, int logit_channels) : num_classes_(num_classes), logit_channels_(logit_channels) {}

  void add(double weight, std::unique_ptr<LossTerm> term) { terms_.emplace_back(weight, std::move(term)); }

  LossContext prepare(const Targets& targets) const override {
    return {count_labels(targets, num_classes_), at::Tensor(), targets.labels.numel()};
  }

  bool needs_prediction_sums() const override {
    for (const auto& [weight, term] : terms_) {
      if (term->needs_prediction_sums()) return true;
    }
    return false;
  }

  at::Tensor prediction_sums(const at::Tensor& logits, const Targets& targets) const override {
    const c10::NoGradGuard no_grad;
    const PixelScores scores = score(logits, targets);
    for (const auto& [weight, term] : terms_) {
      if (term->needs_prediction_sums()) return term->prediction_sums(scores);
    }
    return {};
  }

  LossTerms micro_loss(const ClassScores& scores, const Targets& targets, const LossContext& context) const override {
    return std::visit([&](const auto& given) { return sum_terms(score(given, targets), context); }, scores);
  }

  bool supports_fused_classifier() const override {
    return logit_channels_ > 1 && terms_.size() == 1 && terms_[0].second->supports_fused_classifier();
  }

 private:
  LossTerms sum_terms(const PixelScores& scores, const LossContext& context) const {
    LossTerms result;
    for (const auto& [weight, term] : terms_) {
      const at::Tensor value = term->value(scores, context);
      result.parts.emplace_back(term->name(), value.detach());
      const at::Tensor weighted = weight == 1 ? value : weight * value;
      result.value = result.value.defined() ? result.value + weighted : weighted;
    }
    return result;
  }

  PixelScores score(const at::Tensor& logits, const Targets& targets) const {
    check_channels(logits.dim() == 4 ? logits.size(1) : 0);
    return PixelScores(logits, targets);
  }
  PixelScores score(const PixelClassifier& fused_classifier, const Targets& targets) const {
    check_channels(fused_classifier.weight.size(0));
    return PixelScores(fused_classifier, targets);
  }
  void check_channels(int64_t channels) const {
    TSR_CHECK(channels == logit_channels_, "expected logits with {} channels for this loss and {} classes, got {}",
              logit_channels_, num_classes_, channels);
  }

  int num_classes_;
  int logit_channels_;
  std::vector<std::pair<double, std::unique_ptr<LossTerm>>> terms_;  // at most one needs prediction sums
};

void check_options(const LossConfig& config, int num_classes) {
  const auto type = name_of(config.type);
  TSR_CHECK_USAGE(is_binary(config.type) ? num_classes == 2 : num_classes >= 2,
                  "loss.type {} needs {} classes, the data set has {}; {}", type,
                  is_binary(config.type) ? "exactly 2" : "2 or more", num_classes,
                  is_binary(config.type) ? "use ce instead of bce, or data.labels.binary" : "name the background too");
  TSR_CHECK_USAGE(config.class_weights.empty() || config.class_weights.size() == static_cast<size_t>(num_classes),
                  "expected {} loss.class_weights, one per class, got {}", num_classes, config.class_weights.size());
  TSR_CHECK_USAGE(config.class_weights.empty() || has_cross_entropy(config.type),
                  "loss.class_weights act on cross entropy; loss.type {} has none: remove them or use ce or ce_dice", type);
  TSR_CHECK_USAGE(config.label_smoothing == 0 || has_cross_entropy(config.type),
                  "loss.label_smoothing acts on cross entropy; loss.type {} has none: remove it or use ce or ce_dice", type);
  TSR_CHECK_USAGE(config.mean == LossMean::kLabelled || config.type != LossType::kDice,
                  "loss.mean=all is for a mean over pixels; loss.type dice has none: remove it or use ce, ce_dice or focal");
}

}  // namespace

void LossContext::add_predictions(const at::Tensor& sums) {
  prediction_sums = prediction_sums.defined() ? prediction_sums + sums : sums;
}

at::Tensor LossContext::divisor() const {
  const at::Tensor labelled = sums.sum();
  return labelled.masked_fill(labelled.eq(0), 1.0);
}

at::Tensor LossContext::all_pixels() const {
  return at::full({}, static_cast<double>(batch_pixels > 0 ? batch_pixels : pixels), sums.options());
}

std::unique_ptr<Loss> make_loss(const LossConfig& config, int num_classes) {
  check_options(config, num_classes);
  const bool binary = is_binary(config.type);
  const bool combined = config.type == LossType::kCeDice || config.type == LossType::kBceDice;
  auto loss = std::make_unique<SumLoss>(num_classes, logit_channels(config, num_classes));
  if (has_cross_entropy(config.type)) {
    loss->add(combined ? config.ce_weight : 1.0, std::make_unique<CrossEntropyTerm>(binary ? "bce" : "ce", config.class_weights,
                                                                                    config.label_smoothing, config.mean));
  }
  if (config.type == LossType::kFocal) loss->add(1.0, std::make_unique<FocalTerm>(config.focal_gamma, config.mean));
  if (combined || config.type == LossType::kDice) {
    loss->add(combined ? config.dice_weight : 1.0, std::make_unique<DiceTerm>(config.dice_smooth, binary ? 1 : 0));
  }
  return loss;
}

}  // namespace tessera
