#include "loss/loss.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include "core/class_bits.h"
#include "core/error.h"
#include "loss/cross_entropy.h"
#include "loss/dice.h"
#include "loss/focal.h"
#include "loss/lovasz.h"
#include "loss/multi_label.h"
#include "loss/ohem.h"
#include "loss/tversky.h"

namespace tessera {
namespace {

std::unique_ptr<LossTerm> cross_entropy(const CrossEntropyConfig& options, LogitKind logits, PixelWeights pixel_weights) {
  const std::vector<double>& class_weights = options.class_weights.values();
  if (logits == LogitKind::kMultiLabel)
    return std::make_unique<SigmoidCrossEntropyTerm>(class_weights, options.label_smoothing, options.mean,
                                                     std::move(pixel_weights));
  return std::make_unique<CrossEntropyTerm>(class_weights, options.label_smoothing, options.mean, std::move(pixel_weights));
}

// Classes before this one take no part in a loss of overlaps.
int first_class(LogitKind logits) {
  return logits == LogitKind::kBinary ? 1 : 0;
}

// One for each kind of options, bce having those of ce: where one is missing, make_loss does not compile.
std::unique_ptr<LossTerm> make_term(const CrossEntropyConfig& options, LogitKind logits) {
  return cross_entropy(options, logits, {});
}
std::unique_ptr<LossTerm> make_term(const BoundaryCrossEntropyConfig& options, LogitKind logits) {
  return cross_entropy(options, logits, boundary_weights(options.boost, options.sigma));
}
std::unique_ptr<LossTerm> make_term(const DiceConfig& options, LogitKind logits) {
  return std::make_unique<DiceTerm>(options.smooth, first_class(logits), logits == LogitKind::kMultiLabel);
}
std::unique_ptr<LossTerm> make_term(const TverskyConfig& options, LogitKind logits) {
  return std::make_unique<TverskyTerm>(options, first_class(logits), logits == LogitKind::kMultiLabel);
}
std::unique_ptr<LossTerm> make_term(const OhemConfig& options, LogitKind) {
  return std::make_unique<OhemTerm>(options);
}
std::unique_ptr<LossTerm> make_term(const LovaszConfig& options, LogitKind logits) {
  const LovaszForm form = logits == LogitKind::kSoftmax  ? LovaszForm::kSoftmax
                          : logits == LogitKind::kBinary ? LovaszForm::kHinge
                                                         : LovaszForm::kMultiHinge;
  return std::make_unique<LovaszTerm>(form, options.absent_classes);
}
std::unique_ptr<LossTerm> make_term(const FocalConfig& options, LogitKind logits) {
  return std::make_unique<FocalTerm>(options.gamma, options.mean, logits == LogitKind::kMultiLabel,
                                     options.class_weights.values());
}

// The weighted sum of some terms over scores made once.
class SumLoss final : public Loss {
 public:
  SumLoss(int num_classes, LogitKind logits)
      : num_classes_(num_classes),
        logit_channels_(logits == LogitKind::kBinary ? 1 : num_classes),
        multi_label_(logits == LogitKind::kMultiLabel) {}

  void add(double weight, std::unique_ptr<LossTerm> term) {
    const int64_t count = term->num_prediction_sums(num_classes_);
    terms_.push_back({weight, std::move(term), num_sums_, count});
    num_sums_ += count;
  }

  LossContext prepare(const Targets& targets) const override {
    const auto& count = multi_label_ ? count_class_bits : count_labels;
    return {.sums = count(targets, num_classes_),
            .prediction_sums = {},
            .pixels = targets.labels.numel(),
            .multi_label = multi_label_};
  }

  bool needs_prediction_sums() const override { return num_sums_ > 0; }

  at::Tensor prediction_sums(const at::Tensor& logits, const Targets& targets) const override {
    const c10::NoGradGuard no_grad;
    const PixelScores scores = score(logits, targets);
    std::vector<at::Tensor> parts;
    for (const Summand& summand : terms_) {
      if (summand.num_sums > 0) parts.push_back(summand.term->prediction_sums(scores).flatten());
    }
    if (parts.empty()) return {};
    return parts.size() == 1 ? parts[0] : at::cat(parts);
  }

  LossValue micro_loss(const ClassScores& scores, const Targets& targets, const LossContext& context) const override {
    return std::visit([&](const auto& given) { return sum_terms(score(given, targets), context); }, scores);
  }

  bool supports_fused_classifier() const override {
    return logit_channels_ > 1 && terms_.size() == 1 && terms_[0].term->supports_fused_classifier();
  }

 private:
  struct Summand {
    double weight;
    std::unique_ptr<LossTerm> term;
    int64_t first_sum, num_sums;  // its part of the prediction sums
  };

  LossValue sum_terms(const PixelScores& scores, const LossContext& context) const {
    LossValue result;
    for (const Summand& summand : terms_) {
      const at::Tensor value = summand.term->value(scores, context_of(summand, context));
      const at::Tensor weighted = summand.weight == 1 ? value : summand.weight * value;
      result.value = result.value.defined() ? result.value + weighted : weighted;
    }
    return result;
  }

  static LossContext context_of(const Summand& summand, const LossContext& context) {
    LossContext own = context;
    if (own.prediction_sums.defined()) own.prediction_sums = own.prediction_sums.narrow(0, summand.first_sum, summand.num_sums);
    return own;
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
  bool multi_label_;
  std::vector<Summand> terms_;
  int64_t num_sums_ = 0;  // of all terms
};

void check_classes(const LossConfig& config, int num_classes, LogitKind logits) {
  const bool binary = logits == LogitKind::kBinary;
  if (logits == LogitKind::kMultiLabel) {
    TSR_CHECK_USAGE(num_classes >= 1 && num_classes <= kMaxMultiLabelClasses,
                    "data.labels.multi takes 1 to {} classes, the data set has {}", kMaxMultiLabelClasses, num_classes);
  } else {
    TSR_CHECK_USAGE(binary ? num_classes == 2 : num_classes >= 2, "{} needs {} classes, the data set has {}; {}",
                    binary ? "bce in loss.terms" : "the loss", binary ? "exactly 2" : "2 or more", num_classes,
                    binary ? "use ce instead of bce, data.labels.binary, or data.labels.multi for classes that overlap"
                           : "name the background too");
  }
  for (size_t i = 0; i < config.terms.size(); ++i) {
    std::visit(
        [&](const auto& options) {
          if constexpr (requires { options.class_weights; }) {
            TSR_CHECK(!options.class_weights.to_be_counted(),
                      "the weights of classes in loss.terms.{}.{} are still to be found in the labels (Note [Class weights "
                      "from the data])",
                      i, options.kName);
            const size_t count = options.class_weights.values().size();
            TSR_CHECK_USAGE(count == 0 || count == static_cast<size_t>(num_classes),
                            "expected {} class_weights in loss.terms.{}.{}, one per class, got {}", num_classes, i,
                            options.kName, count);
          }
        },
        config.terms[i]);
  }
}

}  // namespace

void LossContext::add_predictions(const at::Tensor& sums) {
  prediction_sums = prediction_sums.defined() ? prediction_sums + sums : sums;
}

at::Tensor LossContext::class_pixels() const {
  return multi_label ? sums.narrow(0, 0, sums.size(0) - 1) : sums;
}

at::Tensor LossContext::divisor() const {
  const at::Tensor labelled = multi_label ? sums.select(0, -1) : sums.sum();
  return labelled.masked_fill(labelled.eq(0), 1.0);
}

at::Tensor LossContext::all_pixels() const {
  return at::full({}, static_cast<double>(batch_pixels > 0 ? batch_pixels : pixels), sums.options());
}

std::unique_ptr<Loss> make_loss(const LossConfig& config, int num_classes, bool multi_label) {
  const LogitKind logits = logit_kind(config, multi_label);
  check_terms(config, multi_label);
  check_classes(config, num_classes, logits);
  auto loss = std::make_unique<SumLoss>(num_classes, logits);
  for (const LossTermConfig& term : config.terms)
    std::visit([&](const auto& options) { loss->add(options.weight, make_term(options, logits)); }, term);
  return loss;
}

}  // namespace tessera
