// Losses against the formula of each term, everything stored, with torch's gradient: of samples that MixUp blended (two labels
// for each pixel) and of those it did not, of one head and of two.
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/image.h"
#include "loss/loss.h"
#include "loss/pixel_weights.h"
#include "support/derivative.h"
#include "support/loss_inputs.h"

namespace tessera {
namespace {

using testing::largest_difference;
using testing::loss_labels;
using testing::loss_logits;

constexpr double kTolerance = 1e-12;  // float64 sums in another order

struct Case {
  const char* name;
  LossConfig config;
  int num_classes;

  at::Tensor logits() const { return loss_logits(logit_channels(config, num_classes), at::kDouble); }
  // The second labels are those of the next sample: ignored pixels meet labelled ones.
  Targets targets() const {
    const at::Tensor labels = loss_labels(num_classes);
    return {labels, labels.roll(1, 0), at::tensor({1.0, 0.75, 0.5, 0.9}, at::kDouble)};
  }
};

Case case_of(const char* name, const std::vector<LossTermConfig>& terms, int num_classes = 5) {
  LossConfig config;
  config.terms = terms;
  return {name, config, num_classes};
}

BoundaryCrossEntropyConfig boundary_of(const CrossEntropyConfig& rules, double boost, double sigma) {
  BoundaryCrossEntropyConfig config;
  static_cast<CrossEntropyConfig&>(config) = rules;
  config.boost = boost;
  config.sigma = sigma;
  return config;
}

std::vector<Case> cases() {
  const CrossEntropyConfig ce, weighted{.class_weights = {1, 2, 0.5, 3, 1.5}, .label_smoothing = 0.1};
  const BinaryCrossEntropyConfig bce, smoothed{{.label_smoothing = 0.1}};
  const DiceConfig dice;
  const FocalConfig focal;
  return {case_of("ce", {ce}),
          case_of("weighted ce", {weighted}),
          case_of("dice", {dice}),
          case_of("ce_dice", {CrossEntropyConfig{.weight = 0.4}, DiceConfig{.weight = 1.1}}),
          case_of("focal", {focal}),
          case_of("bce", {smoothed}, 2),
          case_of("bce_dice", {bce, dice}, 2),
          case_of("ce, dice, focal",
                  {CrossEntropyConfig{.weight = 0.7, .class_weights = {1, 2, 0.5, 3, 1.5}, .label_smoothing = 0.1},
                   DiceConfig{.weight = 1.3, .smooth = 1}, FocalConfig{.weight = 0.5, .gamma = 1.5}}),
          case_of("dice, ce, dice", {DiceConfig{.weight = 0.6, .smooth = 1}, ce, DiceConfig{.weight = 2.5}}),
          case_of("focal, bce, dice", {focal, BinaryCrossEntropyConfig{{.weight = 0.2}}, dice}, 2),
          case_of("weighted focal", {FocalConfig{.class_weights = {1, 2, 0.5, 3, 1.5}}}),
          case_of("tversky", {TverskyConfig{}}),
          case_of("focal tversky of one logit", {bce, TverskyConfig{.gamma = 0.75, .smooth = 1}}, 2),
          case_of("lovasz", {LovaszConfig{}}),
          case_of("lovasz of all classes", {LovaszConfig{.absent_classes = true}}),
          case_of("lovasz hinge", {bce, LovaszConfig{}}, 2),
          case_of("ohem", {OhemConfig{.threshold = 0.4, .min_kept = 0.2}}),
          case_of("ohem of all pixels", {OhemConfig{.min_kept = 3, .mean = OhemMean::kAll}}),
          case_of("weighted ohem, ohem", {OhemConfig{.min_kept = 4, .class_weights = {1, 2, 0.5, 3, 1.5}}, OhemConfig{}}),
          case_of("boundary_ce", {boundary_of(weighted, 4, 0.5)}),
          case_of("boundary_ce of one logit", {boundary_of(smoothed, 2, 0.7), bce}, 2)};
}

// Of a model with two heads, the second at another resolution.
struct Head {
  at::Tensor logits;
  double weight = 1;
};

struct Result {
  double value = 0;
  at::Tensor gradient;  // of the logits of all heads, one after another
};

at::Tensor gradients_of(const std::vector<at::Tensor>& inputs) {
  std::vector<at::Tensor> gradients;
  for (const at::Tensor& input : inputs) gradients.push_back(input.grad().flatten());
  return at::cat(gradients);
}

// One step as in Note [Exact over micro-batches].
Result run_step(const Loss& loss, const std::vector<Head>& heads, const Targets& targets, int64_t micro_batch) {
  const int64_t n = targets.labels.size(0);
  std::vector<at::Tensor> inputs;
  std::vector<LossContext> contexts;
  for (const Head& head : heads) {
    inputs.push_back(head.logits.detach().clone().requires_grad_());
    contexts.push_back(loss.prepare(targets));
  }
  for (size_t k = 0; k < heads.size() && loss.needs_prediction_sums() && micro_batch < n; ++k) {
    for (int64_t i = 0; i < n; i += micro_batch)
      contexts[k].add_predictions(loss.prediction_sums(inputs[k].narrow(0, i, micro_batch), targets.narrow(i, micro_batch)));
  }
  Result result;
  for (int64_t i = 0; i < n; i += micro_batch) {
    for (size_t k = 0; k < heads.size(); ++k) {
      const at::Tensor value =
          heads[k].weight *
          loss.micro_loss(inputs[k].narrow(0, i, micro_batch), targets.narrow(i, micro_batch), contexts[k]).value;
      value.backward();
      result.value += value.item<double>();
    }
  }
  result.gradient = gradients_of(inputs);
  return result;
}

Result run_step(const Loss& loss, const at::Tensor& logits, const Targets& targets, int64_t micro_batch) {
  return run_step(loss, std::vector<Head>{{logits}}, targets, micro_batch);
}

// (N, K, H, W): one-hot vectors, zero where ignored.
at::Tensor one_hot(const at::Tensor& labels, int num_classes) {
  const at::Tensor index = labels.to(at::kLong);
  return at::one_hot(index.clamp_min(0), num_classes).permute({0, 3, 1, 2}).to(at::kDouble) *
         index.ne(kIgnoreLabel).unsqueeze(1);
}

// The Jaccard loss of a class when the pixels with the largest errors, `wrong`, are predicted wrongly.
double jaccard_loss(const std::vector<bool>& truth, const std::vector<size_t>& wrong) {
  std::vector<bool> predicted = truth;
  for (const size_t i : wrong) predicted[i] = !predicted[i];
  double both = 0, either = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    both += truth[i] && predicted[i] ? 1 : 0;
    either += truth[i] || predicted[i] ? 1 : 0;
  }
  return either > 0 ? 1 - both / either : 0;
}

// The Lovasz extension by its definition: each error times what its pixel adds to the Jaccard loss. relu: the hinge.
at::Tensor lovasz_extension(const at::Tensor& errors, const std::vector<bool>& truth, bool relu) {
  const at::Tensor values = errors.detach().contiguous();
  const double* const value = values.const_data_ptr<double>();
  std::vector<size_t> order(truth.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value[a] > value[b]; });
  std::vector<double> added(truth.size());
  std::vector<size_t> wrong;
  double before = 0;
  for (const size_t i : order) {
    wrong.push_back(i);
    const double after = jaccard_loss(truth, wrong);
    added[i] = after - before;
    before = after;
  }
  return ((relu ? errors.relu() : errors) * at::tensor(added, at::kDouble)).sum();
}

// The formulas of the terms, from vectors of targets.
class Formulas {
 public:
  Formulas(const Case& c, const at::Tensor& logits, const Targets& targets) : num_classes_(c.num_classes), targets_(targets) {
    const at::Tensor full = at::upsample_bilinear2d(logits, targets.labels.sizes().slice(1), false);
    full_ = full;
    binary_ = full.size(1) == 1;
    log_p_ = at::log_softmax(binary_ ? at::cat({at::zeros_like(full), full}, 1) : full, 1);
    p_ = log_p_.exp();
    target_ = one_hot(targets.labels, num_classes_);
    if (targets.mixed()) {
      const at::Tensor weight = targets.mix_weight.view({-1, 1, 1, 1});
      target_ = weight * target_ + (1 - weight) * one_hot(targets.other, num_classes_);
    }
    labelled_ = target_.sum(1, /*keepdim=*/true);
  }

  at::Tensor value(const CrossEntropyConfig& o) const {
    const at::Tensor weights = weights_of(o.class_weights);
    const at::Tensor smooth =
        (1 - o.label_smoothing) * target_ + o.label_smoothing / static_cast<double>(num_classes_) * labelled_;
    return (smooth * weights * -log_p_).sum() / (target_ * weights).sum();
  }
  at::Tensor value(const FocalConfig& o) const {
    const at::Tensor weights = weights_of(o.class_weights);
    return (target_ * weights * (1 - p_).pow(o.gamma) * -log_p_).sum() / (target_ * weights).sum();
  }
  at::Tensor value(const DiceConfig& o) const {
    const at::Tensor truth = target_.sum({0, 2, 3}), match = (p_ * target_).sum({0, 2, 3}),
                     predicted = (p_ * labelled_).sum({0, 2, 3});
    const at::Tensor dice = 1 - (2 * match + o.smooth) / (truth + predicted + o.smooth);
    return binary_ ? dice[1] : dice.masked_select(truth.gt(0)).mean();
  }
  at::Tensor value(const TverskyConfig& o) const {
    const at::Tensor truth = target_.sum({0, 2, 3}), match = (p_ * target_).sum({0, 2, 3}),
                     predicted = (p_ * labelled_).sum({0, 2, 3});
    const at::Tensor index = (match + o.smooth) / (match + o.alpha * (predicted - match) + o.beta * (truth - match) + o.smooth);
    const at::Tensor loss = (1 - index).pow(o.gamma);
    return binary_ ? loss[1] : loss.masked_select(truth.gt(0)).mean();
  }
  at::Tensor value(const LovaszConfig& o) const {
    at::Tensor total = at::zeros({}, at::kDouble);
    each_image([&](int64_t n, const at::Tensor& labels, double weight) { total = total + weight * lovasz(o, n, labels); });
    return total / targets_.labels.size(0);
  }
  at::Tensor value(const OhemConfig& o) const {
    at::Tensor sum = at::zeros({}, at::kDouble);
    double count = 0;
    const at::Tensor weights = weights_of(o.class_weights).flatten();
    each_image([&](int64_t n, const at::Tensor& labels, double weight) {
      const at::Tensor log_p = log_p_[n].flatten(1), p = p_[n].detach().flatten(1), counted = at::zeros_like(p);
      const auto label = labels.accessor<int64_t, 1>();
      const auto prob = p.accessor<double, 2>();
      auto count_of = counted.accessor<double, 2>();
      std::vector<std::pair<double, int64_t>> pixels;
      for (int64_t i = 0; i < labels.numel(); ++i) {
        if (label[i] >= 0) pixels.emplace_back(prob[label[i]][i], i);
      }
      std::sort(pixels.begin(), pixels.end());
      const auto kept = std::llround(o.min_kept < 1 ? o.min_kept * static_cast<double>(labels.numel()) : o.min_kept);
      for (size_t rank = 0; rank < pixels.size(); ++rank) {
        const auto& [of_label, i] = pixels[rank];
        if (of_label >= o.threshold && static_cast<int64_t>(rank) >= kept) continue;
        count_of[label[i]][i] = weight * weights[weights.numel() > 1 ? label[i] : 0].item<double>();
      }
      sum = sum - (counted * log_p).sum();
      count += counted.sum().item<double>();
    });
    return sum / (o.mean == OhemMean::kAll ? static_cast<double>(targets_.labels.numel()) : count);
  }
  at::Tensor value(const BoundaryCrossEntropyConfig& o) const {
    const auto boundary = boundary_weights(o.boost, o.sigma);  // compared with scipy's distances elsewhere
    at::Tensor near = one_hot(targets_.labels, num_classes_) * boundary(targets_.labels).unsqueeze(1);
    if (targets_.mixed()) {
      const at::Tensor weight = targets_.mix_weight.view({-1, 1, 1, 1});
      near = weight * near + (1 - weight) * one_hot(targets_.other, num_classes_) * boundary(targets_.other).unsqueeze(1);
    }
    const at::Tensor weights = weights_of(o.class_weights);
    const at::Tensor smooth =
        (1 - o.label_smoothing) * near + o.label_smoothing / static_cast<double>(num_classes_) * near.sum(1, true);
    return (smooth * weights * -log_p_).sum() / (target_ * weights).sum();
  }

 private:
  static at::Tensor weights_of(const ClassWeights& weights) {
    if (weights.values().empty()) return at::ones({1, 1, 1, 1}, at::kDouble);
    return at::tensor(weights.values(), at::kDouble).view({1, -1, 1, 1});
  }

  // Calls work(image, its labels as a row, the weight they have).
  template <class Work>
  void each_image(const Work& work) const {
    for (int64_t n = 0; n < targets_.labels.size(0); ++n) {
      const double weight = targets_.mixed() ? targets_.mix_weight[n].item<double>() : 1;
      work(n, targets_.labels[n].flatten().to(at::kLong), weight);
      if (targets_.mixed()) work(n, targets_.other[n].flatten().to(at::kLong), 1 - weight);
    }
  }

  at::Tensor lovasz(const LovaszConfig& o, int64_t n, const at::Tensor& labels) const {
    const at::Tensor places = labels.ne(kIgnoreLabel).nonzero().flatten(), seen_labels = labels.index_select(0, places);
    const auto label = seen_labels.accessor<int64_t, 1>();
    at::Tensor total = at::zeros({}, at::kDouble);
    int64_t count = 0;
    for (int k = binary_ ? 1 : 0; k < num_classes_; ++k) {
      std::vector<bool> truth;
      for (int64_t i = 0; i < places.numel(); ++i) truth.push_back(label[i] == k);
      const bool seen = std::find(truth.begin(), truth.end(), true) != truth.end();
      if (!seen && !binary_ && !o.absent_classes) continue;
      ++count;
      if (truth.empty()) continue;
      const at::Tensor own = seen_labels.eq(k).to(at::kDouble);
      const at::Tensor scores = (binary_ ? full_[n][0] : p_[n][k]).flatten().index_select(0, places);
      const at::Tensor errors = binary_ ? 1 - scores * (2 * own - 1) : (own - scores).abs();
      total = total + lovasz_extension(errors, truth, binary_);
    }
    return total / std::max<int64_t>(count, 1);
  }

  int num_classes_;
  Targets targets_;
  at::Tensor full_;
  bool binary_;
  at::Tensor log_p_, p_, target_, labelled_;  // (N, K, H, W); labelled_ (N, 1, H, W)
};

Result plain(const Case& c, const std::vector<Head>& heads, const Targets& targets) {
  at::Tensor total = at::zeros({}, at::kDouble);
  std::vector<at::Tensor> inputs;
  for (const Head& head : heads) {
    inputs.push_back(head.logits.detach().clone().requires_grad_());
    const Formulas formulas(c, inputs.back(), targets);
    for (const LossTermConfig& term : c.config.terms) {
      total = total + std::visit([&](const auto& o) { return head.weight * o.weight * formulas.value(o); }, term);
    }
  }
  total.backward();
  return {total.item<double>(), gradients_of(inputs)};
}

TEST(MixedLoss, IsThatOfVectorsOfTargetsOverAnyMicroBatches) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const Result expected = plain(c, {{c.logits()}}, c.targets());
    for (const int64_t micro_batch : {1, 2, 4}) {
      const Result result = run_step(*loss, c.logits(), c.targets(), micro_batch);
      EXPECT_NEAR(result.value, expected.value, kTolerance) << c.name << ", " << micro_batch;
      EXPECT_LT(largest_difference(result.gradient, expected.gradient), kTolerance) << c.name << ", " << micro_batch;
    }
  }
}

// An auxiliary head has prediction sums of its own.
TEST(MixedLoss, TwoHeadsAreTheirFormulasOverAnyMicroBatches) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    const std::vector<Head> heads{{c.logits()}, {c.logits().flip(0).narrow(2, 0, 2).narrow(3, 1, 3).contiguous(), 0.4}};
    for (const Targets& targets : {c.targets(), Targets(c.targets().labels)}) {
      const Result expected = plain(c, heads, targets);
      for (const int64_t micro_batch : {1, 2, 4}) {
        const Result result = run_step(*loss, heads, targets, micro_batch);
        EXPECT_NEAR(result.value, expected.value, kTolerance) << c.name << ", " << micro_batch;
        EXPECT_LT(largest_difference(result.gradient, expected.gradient), kTolerance) << c.name << ", " << micro_batch;
      }
    }
  }
}

TEST(MixedLoss, MixingASampleWithItselfChangesNothing) {
  for (const Case& c : cases()) {
    const auto loss = make_loss(c.config, c.num_classes);
    Targets same = c.targets();
    same.other = same.labels;
    const Result expected = run_step(*loss, c.logits(), same.labels, 4), result = run_step(*loss, c.logits(), same, 4);
    EXPECT_NEAR(result.value, expected.value, kTolerance) << c.name;
    EXPECT_LT(largest_difference(result.gradient, expected.gradient), kTolerance) << c.name;
  }
}

TEST(MixedLoss, WithoutLabelsLossAndGradientAreZero) {
  for (const Case& c : cases()) {
    Targets none = c.targets();
    none.labels = at::full_like(none.labels, kIgnoreLabel);
    none.other = none.labels;
    const Result result = run_step(*make_loss(c.config, c.num_classes), c.logits(), none, 2);
    EXPECT_EQ(result.value, 0) << c.name;
    EXPECT_EQ(result.gradient.abs().max().item<double>(), 0) << c.name;
  }
}

// Less than one pixel in all: the mean is still that pixel's.
TEST(MixedLoss, DividesByPartsOfAPixel) {
  for (const Case& c : cases()) {
    Targets few = c.targets();
    few.labels = at::full_like(few.labels, kIgnoreLabel);
    few.other = few.labels.clone();
    few.other[1][0][0] = 1;
    Targets whole(few.other);
    const auto loss = make_loss(c.config, c.num_classes);
    const auto counts_all = [](const LossTermConfig& term) {
      return std::holds_alternative<LovaszConfig>(term) || std::holds_alternative<OhemConfig>(term);
    };
    if (loss->needs_prediction_sums() || std::any_of(c.config.terms.begin(), c.config.terms.end(), counts_all))
      continue;  // Dice is no mean over pixels, and others are one over all pixels or images
    EXPECT_NEAR(run_step(*loss, c.logits(), few, 2).value, run_step(*loss, c.logits(), whole, 2).value, kTolerance) << c.name;
  }
}

}  // namespace
}  // namespace tessera
