#pragma once
#include <string_view>
#include <variant>
#include <vector>

#include "config/class_weights.h"
#include "config/schema.h"

namespace tessera {

enum class LossMean { kLabelled, kAll };
template <>
struct EnumNames<LossMean> {
  static constexpr std::array<std::string_view, 2> names = {"labelled", "all"};
};

inline constexpr const char* kLossMeanHelp =
    "labelled: over the labelled pixels of the batch, with class_weights a weighted mean (torch); all: divided by the number "
    "of "
    "all pixels, ignored ones too (mmsegmentation)";

inline constexpr const char* kClassWeightsHelp =
    "weight of each class (a weighted mean), as numbers or found in the labels of the training set when the run begins: auto "
    "(median_frequency), inverse, effective_number, {effective_number: {beta: 0.99}}; empty: all 1";

struct CrossEntropyConfig {
  static constexpr std::string_view kName = "ce";
  static constexpr std::string_view kHelp = "softmax cross entropy";
  double weight = 1.0;
  ClassWeights class_weights = {};
  double label_smoothing = 0.0;
  LossMean mean = LossMean::kLabelled;
  bool operator==(const CrossEntropyConfig&) const = default;
};

struct BinaryCrossEntropyConfig : CrossEntropyConfig {
  static constexpr std::string_view kName = "bce";
  static constexpr std::string_view kHelp =
      "cross entropy of two classes from one logit, which the terms beside it then take too; not together with ce. With "
      "data.labels.multi: of each class for itself, the mean over pixels and classes";
  bool operator==(const BinaryCrossEntropyConfig&) const = default;
};

template <class V>
void describe(V& v, CrossEntropyConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("class_weights", c.class_weights, kClassWeightsHelp, at_least(0));
  v.field("label_smoothing", c.label_smoothing, "share of the target spread evenly over all classes", between(0, 1));
  v.field("mean", c.mean, kLossMeanHelp);
}

struct DiceConfig {
  static constexpr std::string_view kName = "dice";
  static constexpr std::string_view kHelp =
      "soft Dice of the whole batch, the mean over the classes that its labels have; of two classes beside bce that of class 1";
  double weight = 1.0;
  double smooth = 1e-5;
  bool operator==(const DiceConfig&) const = default;
};
template <class V>
void describe(V& v, DiceConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("smooth", c.smooth, "added to numerator and denominator", positive());
}

struct FocalConfig {
  static constexpr std::string_view kName = "focal";
  static constexpr std::string_view kHelp = "cross entropy times (1 - p)^gamma, pixel by pixel";
  double weight = 1.0;
  double gamma = 2.0;
  ClassWeights class_weights = {};
  LossMean mean = LossMean::kLabelled;
  bool operator==(const FocalConfig&) const = default;
};
template <class V>
void describe(V& v, FocalConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("gamma", c.gamma, "0 is plain cross entropy", at_least(0));
  v.field("class_weights", c.class_weights, kClassWeightsHelp, at_least(0));
  v.field("mean", c.mean, kLossMeanHelp);
}

struct TverskyConfig {
  static constexpr std::string_view kName = "tversky";
  static constexpr std::string_view kHelp =
      "Dice with weights of its own for what is found wrongly and what is missed, of the whole batch: (1 - I / (I + alpha * "
      "false positives + beta * false negatives))^gamma, the mean over the classes that its labels have; alpha = beta = 0.5 is "
      "dice. Salehi et al., 2017; with gamma the focal Tversky loss of Abraham and Khan, 2019";
  double weight = 1.0;
  double alpha = 0.3;
  double beta = 0.7;
  double gamma = 1.0;
  double smooth = 1e-5;
  bool operator==(const TverskyConfig&) const = default;
};
template <class V>
void describe(V& v, TverskyConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("alpha", c.alpha, "weight of false positives", at_least(0));
  v.field("beta", c.beta, "weight of false negatives; above alpha: rather find too much than miss", at_least(0));
  v.field("gamma", c.gamma, "exponent of each class's loss, 1 / gamma of the paper; 0.75 is what it recommends", positive());
  v.field("smooth", c.smooth, "added to numerator and denominator", positive());
}

struct LovaszConfig {
  static constexpr std::string_view kName = "lovasz";
  static constexpr std::string_view kHelp =
      "Lovasz-Softmax (Berman et al., 2018), which follows the IoU: of each image for itself, the mean over images. Beside "
      "bce, "
      "and with data.labels.multi, the Lovasz hinge of the logit, the mean over classes";
  double weight = 1.0;
  bool absent_classes = false;
  bool operator==(const LovaszConfig&) const = default;
};
template <class V>
void describe(V& v, LovaszConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("absent_classes", c.absent_classes,
          "softmax: the mean over all classes (classes='all' of the reference), not over those that an image's labels have");
}

enum class OhemMean { kKept, kLabelled, kAll };
template <>
struct EnumNames<OhemMean> {
  static constexpr std::array<std::string_view, 3> names = {"kept", "labelled", "all"};
};

struct OhemConfig {
  static constexpr std::string_view kName = "ohem";
  static constexpr std::string_view kHelp =
      "cross entropy of the hard pixels alone (online hard example mining), as mmsegmentation's OHEMPixelSampler picks them, "
      "in "
      "each image for itself: those whose label has a probability below the threshold, and at least min_kept";
  double weight = 1.0;
  double threshold = 0.7;
  double min_kept = 0.2;
  ClassWeights class_weights = {};
  OhemMean mean = OhemMean::kKept;
  bool operator==(const OhemConfig&) const = default;
};
template <class V>
void describe(V& v, OhemConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("threshold", c.threshold, "probability of the label below which a pixel is hard; 0: only min_kept counts",
          between(0, 1));
  v.field(
      "min_kept", c.min_kept,
      "how many pixels of an image count at least, the hardest: a number or, below 1, a share of the crop. mmsegmentation's "
      "100000 of a crop of 512 x 1024 is 0.19",
      at_least(0));
  v.field("class_weights", c.class_weights, kClassWeightsHelp, at_least(0));
  v.field("mean", c.mean,
          "over the pixels that count; labelled: divided by the number of labelled pixels; all: by that of all pixels, ignored "
          "ones too (mmsegmentation)");
}

struct BoundaryCrossEntropyConfig : CrossEntropyConfig {
  static constexpr std::string_view kName = "boundary_ce";
  static constexpr std::string_view kHelp =
      "ce (beside bce: bce) whose pixels count 1 + boost * exp(-d^2 / (2 sigma^2)) times, d being the distance to the nearest "
      "pixel that has another class beside it; after the U-Net paper (Ronneberger et al., 2015)";
  double boost = 10;
  double sigma = 5;
  bool operator==(const BoundaryCrossEntropyConfig&) const = default;
};
template <class V>
void describe(V& v, BoundaryCrossEntropyConfig& c) {
  v.field("boost", c.boost, "how much more a pixel at a boundary counts", at_least(0));
  v.field("sigma", c.sigma, "pixels over which that falls off; beyond three sigma there is none of it", between(0.1, 100));
  describe(v, static_cast<CrossEntropyConfig&>(c));
}

// The names are the keys in configs: `- dice: {weight: 3}`.
using LossTermConfig = std::variant<CrossEntropyConfig, BinaryCrossEntropyConfig, DiceConfig, FocalConfig, TverskyConfig,
                                    LovaszConfig, OhemConfig, BoundaryCrossEntropyConfig>;

inline std::string_view name_of(const LossTermConfig& term) {
  return std::visit([](const auto& options) { return options.kName; }, term);
}

}  // namespace tessera
