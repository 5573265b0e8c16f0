#include "study/search/tpe_split.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace tessera {
namespace {

// Losses by number.
std::vector<double> weights_by_gain(const std::map<int64_t, double>& losses, double best_of_rest) {
  std::vector<double> weights;
  double sum = 0;
  for (const auto& [number, loss] : losses) sum += weights.emplace_back(best_of_rest - loss);
  if (!(sum > 0) || !std::isfinite(sum)) return std::vector<double>(weights.size(), 1.0);
  // None of them is nothing: the last one may be as good as the first of the rest.
  constexpr double kLeast = 1e-6;
  for (double& weight : weights) weight = std::max(kLeast, weight * static_cast<double>(weights.size()) / sum);
  return weights;
}

}  // namespace

bool TpeSplit::Place::operator<(const Place& other) const {
  return std::tuple(kind, -step, loss, number) < std::tuple(other.kind, -other.step, other.loss, other.number);
}

void TpeSplit::tell(int64_t number, const Outcome& outcome) {
  forget(number);
  if (outcome.kind != Outcome::Kind::kComplete && outcome.kind != Outcome::Kind::kStopped) return;
  if (outcome.kind == Outcome::Kind::kComplete && num_objectives_ > 1) return fronts_.tell(number, outcome.losses);
  const int64_t step = outcome.kind == Outcome::Kind::kStopped ? outcome.step : 0;
  places_[number] = order_.insert({outcome.kind, step, outcome.losses.front(), number}).first;
}

void TpeSplit::forget(int64_t number) {
  fronts_.forget(number);
  const auto place = places_.find(number);
  if (place == places_.end()) return;
  order_.erase(place->second);
  places_.erase(place);
}

int64_t TpeSplit::ended_without(int64_t number) const {
  const bool is_there = places_.contains(number) || fronts_.contains(number);
  return static_cast<int64_t>(order_.size() + fronts_.size()) + dropped_ - (is_there ? 1 : 0);
}

void TpeSplit::drop(int64_t number) {
  if (places_.contains(number)) ++dropped_;
  forget(number);
}

void TpeSplit::note_needed(const std::function<bool(int64_t)>& is_final, std::set<int64_t>& needed) const {
  // The good ones, the one that is left out, and the first of the rest: nobody overtakes a trial whose outcome is final.
  constexpr size_t kLookedAt = kMostGood + 2;
  size_t final = 0;
  for (auto place = order_.begin(); place != order_.end() && final < kLookedAt; ++place) {
    needed.insert(place->number);
    final += is_final(place->number) ? 1 : 0;
  }
}

TpeSplit::Good TpeSplit::good_without(int64_t number) {
  const auto ended = static_cast<size_t>(ended_without(number));
  const size_t count = std::min((ended + 9) / 10, num_objectives_ == 1 ? kMostGood : BestOfFronts::kMost);
  std::map<int64_t, double> good;  // losses
  if (num_objectives_ > 1) {
    for (const int64_t one : fronts_.best(count, number)) good[one] = 0;
  }
  auto next = order_.begin();
  const auto skip = [&] { return next != order_.end() && next->number == number; };
  for (; good.size() < count || skip(); ++next) {
    if (!skip()) good[next->number] = next->loss;
  }
  Good result;
  for (const auto& [one, loss] : good) result.numbers.push_back(one);
  const bool is_comparable = num_objectives_ == 1 && next != order_.end() && next->kind == Outcome::Kind::kComplete;
  result.weights = is_comparable ? weights_by_gain(good, next->loss) : std::vector<double>(good.size(), 1.0);
  return result;
}

}  // namespace tessera
