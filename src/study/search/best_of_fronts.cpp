#include "study/search/best_of_fronts.h"

#include <algorithm>
#include <cassert>

namespace tessera {
namespace {

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

}  // namespace

void BestOfFronts::tell(int64_t number, const Losses& losses) {
  forget(number);
  all_[number] = losses;
  candidates_.insert(std::lower_bound(candidates_.begin(), candidates_.end(), number), number);
}

void BestOfFronts::forget(int64_t number) {
  if (all_.erase(number) > 0) look_at_all();
}

void BestOfFronts::look_at_all() {
  candidates_.clear();
  for (const auto& [number, losses] : all_) candidates_.push_back(number);
  is_whole_ = true;
}

void BestOfFronts::leave_out_behind(const std::vector<std::vector<size_t>>& fronts) {
  if (candidates_.size() < look_again_at_) return;
  const size_t whole = is_whole_ ? fronts.size() : std::min(whole_ranks_, fronts.size());
  std::vector<int64_t> kept;
  size_t ranks = 0;
  for (; ranks < whole && kept.size() < 2 * kMost; ++ranks) {
    for (const size_t i : fronts[ranks]) kept.push_back(candidates_[i]);
  }
  if (kept.size() < 2 * kMost) return look_at_all();
  std::sort(kept.begin(), kept.end());
  candidates_ = std::move(kept);
  is_whole_ = false;
  whole_ranks_ = ranks;
  look_again_at_ = std::max(4 * kMost, 2 * candidates_.size());
}

std::vector<int64_t> BestOfFronts::best(size_t count, int64_t without) {
  assert(count <= kMost);
  if (contains(without)) {
    BestOfFronts others = *this;
    others.forget(without);
    return others.best(count, without);
  }
  if (count >= all_.size()) count = all_.size();
  std::vector<Losses> points;
  for (const int64_t number : candidates_) points.push_back(all_.at(number));
  const std::vector<size_t> ranks = domination_ranks(points);
  std::vector<std::vector<size_t>> fronts;
  for (size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] >= fronts.size()) fronts.resize(ranks[i] + 1);
    fronts[ranks[i]].push_back(i);
  }
  std::vector<int64_t> best;
  size_t rank = 0;
  for (; best.size() < count && rank < fronts.size(); ++rank) {
    const std::vector<size_t>& front = fronts[rank];
    if (best.size() + front.size() <= count) {
      for (const size_t i : front) best.push_back(candidates_[i]);
      continue;
    }
    std::vector<Losses> of_front;
    for (const size_t i : front) of_front.push_back(points[i]);
    for (const size_t i : largest_hypervolume(of_front, count - best.size(), reference_of(of_front)))
      best.push_back(candidates_[front[i]]);
  }
  if (!is_whole_ && (best.size() < count || rank > whole_ranks_)) {
    look_at_all();
    return this->best(count, without);
  }
  leave_out_behind(fronts);
  return best;
}

}  // namespace tessera
