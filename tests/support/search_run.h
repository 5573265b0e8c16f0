#pragma once
#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "study/search/searcher.h"
#include "study/space/space.h"

namespace tessera::testing {

// A choice of two models; one has a depth, both have a rate, and a fixed number that varies nothing.
inline Space space_of_models() {
  Parameter model{.name = "model", .kind = Parameter::Kind::kChoice};
  model.choices = {{"\"unet\""}, {"\"fcn\""}};
  Parameter depth{.name = "depth", .kind = Parameter::Kind::kInteger, .low = 1, .high = 9, .step = 1};
  depth.when = Condition{"model", {0}};
  return Space(
      {depth, {.name = "rate", .low = 1e-4, .high = 1e-1, .log = true}, model, {.name = "fixed", .low = 3, .high = 3}});
}

inline Trial ended(int64_t number, const Assignment& parameters, double value) {
  if (std::isnan(value)) return {.number = number, .state = TrialState::kFailed, .parameters = parameters};
  return {.number = number, .state = TrialState::kComplete, .parameters = parameters, .values = {value}};
}

// Trials one after another.
class SearchRun {
 public:
  explicit SearchRun(Searcher& search) : search_(search) {}

  void trials(int64_t count, const std::function<double(const Assignment&)>& function) {
    for (int64_t i = 0; i < count; ++i) {
      const auto number = static_cast<int64_t>(told_.size());
      const Assignment point = search_.suggest(number).value();
      search_.observe({.number = number, .state = TrialState::kRunning, .parameters = point});
      values_.push_back(function(point));
      told_.push_back(ended(number, point, values_.back()));
      search_.observe(told_.back());
    }
  }

  const std::vector<Trial>& told() const { return told_; }
  const std::vector<double>& values() const { return values_; }
  double least() const { return *std::min_element(values_.begin(), values_.end()); }
  double greatest() const { return *std::max_element(values_.begin(), values_.end()); }

 private:
  Searcher& search_;
  std::vector<Trial> told_;
  std::vector<double> values_;
};

}  // namespace tessera::testing
