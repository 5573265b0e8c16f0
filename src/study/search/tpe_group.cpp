#include "study/search/tpe_group.h"

#include <algorithm>
#include <map>
#include <string>

namespace tessera {
namespace {

constexpr size_t kFewChanges = 32;  // cheaper one by one than all anew

}  // namespace

TpeGroup::TpeGroup(const Space& space, std::vector<size_t> members, size_t branch)
    : members_(std::move(members)), branch_(branch) {
  for (const size_t i : members_) parameters_.push_back(space.parameters()[i]);
}

ParzenEstimator TpeGroup::density(const TpeTrials& trials, std::vector<double> weights, const ParzenSettings& settings) const {
  std::vector<std::vector<double>> observations(members_.size());
  for (const auto& [number, point] : trials) {
    for (size_t i = 0; i < members_.size(); ++i) observations[i].push_back((*point)[members_[i]]);
  }
  return {parameters_, observations, std::move(weights), settings};
}

const ParzenEstimator& TpeGroup::kept_density(const TpeTrials& trials, const ParzenSettings& settings) {
  std::vector<int64_t> numbers;
  TpeTrials changes;  // null: those that go
  numbers.reserve(trials.size());
  auto kept = kept_ ? kept_->numbers.begin() : numbers.end();
  const auto end = kept_ ? kept_->numbers.end() : numbers.end();
  for (const auto& [number, point] : trials) {
    numbers.push_back(number);
    for (; kept != end && *kept < number; ++kept) changes.emplace_back(*kept, nullptr);
    if (kept != end && *kept == number) {
      ++kept;
    } else {
      changes.emplace_back(number, point);
    }
  }
  for (; kept != end; ++kept) changes.emplace_back(*kept, nullptr);
  if (!kept_ || changes.size() > kFewChanges) {
    kept_.emplace(Kept{density(trials, weights_by_age(trials.size()), settings), std::move(numbers)});
    return kept_->density;
  }
  for (const auto& [number, point] : changes) change(number, point);
  if (kept_->density.weights().size() != trials.size() + 1) kept_->density.set_weights(weights_by_age(trials.size()));
  return kept_->density;
}

void TpeGroup::change(int64_t number, const TpePoint* point) {
  const auto at = std::lower_bound(kept_->numbers.begin(), kept_->numbers.end(), number);
  const auto place = static_cast<size_t>(at - kept_->numbers.begin());
  if (point == nullptr) {
    kept_->numbers.erase(at);
    kept_->density.erase(place);
    return;
  }
  std::vector<double> values;
  for (const size_t i : members_) values.push_back((*point)[i]);
  kept_->numbers.insert(at, number);
  kept_->density.insert(place, values);
}

std::vector<TpeGroup> tpe_groups(const Space& space, bool multivariate) {
  using Values = std::vector<double>;
  std::map<std::pair<std::string, Values>, size_t> branches = {{{"", Values{}}, 0}};
  std::vector<std::vector<size_t>> groups;
  std::vector<size_t> branch_of;
  for (size_t i = 0; i < space.parameters().size(); ++i) {
    const Parameter& parameter = space.parameters()[i];
    if (parameter.exhaustive || parameter.cardinality() == 1 || (parameter.choices.empty() && parameter.low == parameter.high))
      continue;
    std::pair<std::string, Values> condition;
    if (parameter.when) condition = {parameter.when->parameter, parameter.when->allowed};
    std::sort(condition.second.begin(), condition.second.end());
    const size_t branch = branches.try_emplace(condition, branches.size()).first->second;
    const auto same = std::find(branch_of.begin(), branch_of.end(), branch);
    if (same != branch_of.end() && multivariate) {
      groups[static_cast<size_t>(same - branch_of.begin())].push_back(i);
    } else {
      groups.push_back({i});
      branch_of.push_back(branch);
    }
  }
  std::vector<TpeGroup> all;
  for (size_t g = 0; g < groups.size(); ++g) all.emplace_back(space, std::move(groups[g]), branch_of[g]);
  return all;
}

}  // namespace tessera
