#pragma once
#include <optional>
#include <string_view>
#include <variant>
#include <vector>

#include "config/schema.h"

namespace tessera {

// Note [Class weights from the data]
// A term's class_weights are numbers, or a method that finds them in the labels of the training set. They are counted once,
// before the first step, by the first rank (train/class_weights.h); what was found stands in the method's `weights` from then
// on, and so in the run's config.yaml: a run that is resumed, its evaluation, and runs that begin with its config do not count
// again, and another method is another experiment.
struct FoundWeights {
  std::vector<double> weights = {};  // one per class; empty: still to be counted
  bool operator==(const FoundWeights&) const = default;
};
template <class V>
void describe_found(V& v, FoundWeights& c) {
  v.field("weights", c.weights, "what was found, one per class; empty: they are counted when the run begins", at_least(0));
}

struct MedianFrequency : FoundWeights {
  static constexpr std::string_view kName = "median_frequency";
  static constexpr std::string_view kHelp =
      "median of the classes' frequencies / frequency of the class, that being its share of the labelled pixels of the images "
      "that show it (Eigen and Fergus, 2015)";
  bool operator==(const MedianFrequency&) const = default;
};
template <class V>
void describe(V& v, MedianFrequency& c) {
  describe_found(v, c);
}

struct InverseFrequency : FoundWeights {
  static constexpr std::string_view kName = "inverse";
  static constexpr std::string_view kHelp =
      "labelled pixels / (classes that occur * pixels of the class), as scikit-learn's class_weight=\"balanced\"";
  bool operator==(const InverseFrequency&) const = default;
};
template <class V>
void describe(V& v, InverseFrequency& c) {
  describe_found(v, c);
}

struct EffectiveNumber : FoundWeights {
  static constexpr std::string_view kName = "effective_number";
  static constexpr std::string_view kHelp =
      "(1 - beta) / (1 - beta^n), n being the images that show the class, scaled so that the mean is 1 (Cui et al., 2019)";
  double beta = 0.999;
  bool operator==(const EffectiveNumber&) const = default;
};
template <class V>
void describe(V& v, EffectiveNumber& c) {
  v.field("beta", c.beta, "0: all alike; towards 1: as one over the number of images", between(0, 0.99999999));
  describe_found(v, c);
}

using WeightMethod = std::variant<MedianFrequency, InverseFrequency, EffectiveNumber>;

// What a config says: [1, 2.5], or auto (median_frequency), inverse, {effective_number: {beta: 0.99}}.
struct ClassWeights {
  std::vector<double> given = {};  // one per class; empty, and no method: all 1
  std::optional<WeightMethod> method = {};

  ClassWeights() = default;
  ClassWeights(std::vector<double> numbers) : given(std::move(numbers)) {}  // NOLINT(google-explicit-constructor)
  ClassWeights(std::initializer_list<double> numbers) : given(numbers) {}

  // Whether the labels must be counted before there are values.
  bool to_be_counted() const { return method && values().empty(); }
  // One per class, or empty: all 1.
  const std::vector<double>& values() const {
    return method ? std::visit([](const auto& found) -> const std::vector<double>& { return found.weights; }, *method) : given;
  }
  bool say_nothing() const { return !method && given.empty(); }
  bool operator==(const ClassWeights&) const = default;
};

}  // namespace tessera
