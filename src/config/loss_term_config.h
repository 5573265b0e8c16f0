#pragma once
#include <string_view>
#include <variant>
#include <vector>

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

struct CrossEntropyConfig {
  static constexpr std::string_view kName = "ce";
  static constexpr std::string_view kHelp = "softmax cross entropy";
  double weight = 1.0;
  std::vector<double> class_weights = {};
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
  v.field("class_weights", c.class_weights, "weight of each class (a weighted mean); empty: all 1", at_least(0));
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
  LossMean mean = LossMean::kLabelled;
  bool operator==(const FocalConfig&) const = default;
};
template <class V>
void describe(V& v, FocalConfig& c) {
  v.field("weight", c.weight, "factor of the term in the sum", at_least(0));
  v.field("gamma", c.gamma, "0 is plain cross entropy", at_least(0));
  v.field("mean", c.mean, kLossMeanHelp);
}

// The names are the keys in configs: `- dice: {weight: 3}`.
using LossTermConfig = std::variant<CrossEntropyConfig, BinaryCrossEntropyConfig, DiceConfig, FocalConfig>;

inline std::string_view name_of(const LossTermConfig& term) {
  return std::visit([](const auto& options) { return options.kName; }, term);
}

}  // namespace tessera
