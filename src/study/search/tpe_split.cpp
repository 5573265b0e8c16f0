#include "study/search/tpe_split.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

// Of several objectives a tenth is much where studies are long: fronts are shown well by fewer.
constexpr size_t kMostGood = 25, kMostOfFronts = 250;

// A little beyond the worst of the points, so that those at the ends add something too.
Losses reference_of(const std::vector<Losses>& points) {
  Losses worst = points.front();
  for (const Losses& point : points) {
    for (size_t i = 0; i < worst.size(); ++i) worst[i] = std::max(worst[i], point[i]);
  }
  for (double& loss : worst) {
    loss = std::max(1.1 * loss, 0.9 * loss);
    if (loss == 0) loss = 1e-12;
  }
  return worst;
}

std::vector<size_t> best_of_fronts(const std::vector<Outcome>& outcomes, const std::vector<size_t>& complete, size_t count) {
  std::vector<Losses> points;
  for (const size_t i : complete) points.push_back(outcomes[i].losses);
  const std::vector<size_t> ranks = domination_ranks(points);
  std::vector<size_t> good, front;
  for (size_t rank = 0; good.size() < count; ++rank) {
    front.clear();
    for (size_t i = 0; i < ranks.size(); ++i) {
      if (ranks[i] == rank) front.push_back(i);
    }
    if (good.size() + front.size() <= count) {
      for (const size_t i : front) good.push_back(complete[i]);
      continue;
    }
    std::vector<Losses> of_front;
    for (const size_t i : front) of_front.push_back(points[i]);
    for (const size_t i : largest_hypervolume(of_front, count - good.size(), reference_of(of_front)))
      good.push_back(complete[front[i]]);
  }
  return good;
}

}  // namespace

std::vector<size_t> good_trials(const std::vector<Outcome>& outcomes, size_t num_objectives) {
  std::vector<size_t> complete, stopped;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].kind == Outcome::Kind::kComplete) complete.push_back(i);
    if (outcomes[i].kind == Outcome::Kind::kStopped) stopped.push_back(i);
  }
  const size_t ended = complete.size() + stopped.size();
  size_t count = std::min((ended + 9) / 10, num_objectives == 1 ? kMostGood : kMostOfFronts);
  const auto better = [&](size_t a, size_t b) { return is_better(outcomes[a], outcomes[b]); };
  if (num_objectives == 1) {
    std::stable_sort(complete.begin(), complete.end(), better);
  } else if (count < complete.size()) {
    complete = best_of_fronts(outcomes, complete, count);
  }
  std::stable_sort(stopped.begin(), stopped.end(), better);
  std::vector<size_t> good(complete.begin(), complete.begin() + static_cast<ptrdiff_t>(std::min(count, complete.size())));
  count -= good.size();
  good.insert(good.end(), stopped.begin(), stopped.begin() + static_cast<ptrdiff_t>(std::min(count, stopped.size())));
  std::sort(good.begin(), good.end());
  return good;
}

}  // namespace tessera
