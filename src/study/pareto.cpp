#include "study/pareto.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace tessera {
namespace {

// Whether a is nowhere worse than b.
bool covers(const Losses& a, const Losses& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > b[i]) return false;
  }
  return true;
}

Losses worse_of(const Losses& a, const Losses& b) {
  Losses worse(a.size());
  std::transform(a.begin(), a.end(), b.begin(), worse.begin(), [](double x, double y) { return std::max(x, y); });
  return worse;
}

double box(const Losses& point, const Losses& reference) {
  double volume = 1;
  for (size_t i = 0; i < point.size(); ++i) volume *= reference[i] - point[i];
  return volume;
}

// Sorted, without copies and without those that another one covers.
std::vector<Losses> front_of(std::vector<Losses> points) {
  std::sort(points.begin(), points.end());
  std::vector<Losses> front;
  for (Losses& point : points) {
    // Whoever covers it comes before it in this order.
    if (std::none_of(front.begin(), front.end(), [&](const Losses& other) { return covers(other, point); }))
      front.push_back(std::move(point));
  }
  return front;
}

// Of a sorted front. Each point adds its box less what the points after it cover of that: While et al. 2012.
double front_volume(const std::vector<Losses>& front, const Losses& reference) {
  double volume = 0;
  if (reference.size() <= 2) {
    double above = reference.back();
    for (const Losses& point : front) {
      volume += reference.size() == 1 ? box(point, reference) : (reference[0] - point[0]) * (above - point[1]);
      above = point.back();
    }
    return volume;
  }
  for (size_t i = 0; i < front.size(); ++i) {
    std::vector<Losses> shared;
    for (size_t j = i + 1; j < front.size(); ++j) shared.push_back(worse_of(front[i], front[j]));
    volume += box(front[i], reference) - front_volume(front_of(std::move(shared)), reference);
  }
  return volume;
}

double added_volume(const Losses& point, const std::vector<Losses>& chosen, const Losses& reference) {
  std::vector<Losses> shared;
  shared.reserve(chosen.size());
  for (const Losses& other : chosen) shared.push_back(worse_of(point, other));
  return box(point, reference) - front_volume(front_of(std::move(shared)), reference);
}

// Whether of points in sorted order, with two objectives, none dominates another one.
bool is_front_of_two(const std::vector<Losses>& points, const std::vector<size_t>& order) {
  if (order.empty() || points[order.front()].size() != 2) return false;
  const auto none_gained = [&](size_t a, size_t b) { return points[a][1] <= points[b][1]; };
  return std::adjacent_find(order.begin(), order.end(), none_gained) == order.end();
}

// With two objectives what a point of a front adds is a rectangle, up to the chosen ones beside it. `left`: the front in sorted
// order.
std::vector<size_t> largest_of_two(const std::vector<Losses>& points, std::vector<size_t> left, size_t count,
                                   const Losses& reference) {
  std::vector<Losses> corners(left.size(), reference);
  std::vector<size_t> result;
  while (result.size() < count) {
    size_t best = 0;
    double most = -1;
    for (size_t at = 0; at < left.size(); ++at) {
      const double added = box(points[left[at]], corners[at]);
      if (added > most) {
        most = added;
        best = at;
      }
    }
    const Losses& chosen = points[left[best]];
    for (size_t at = 0; at < left.size(); ++at) {
      const size_t objective = at < best ? 0 : 1;
      corners[at][objective] = std::min(corners[at][objective], chosen[objective]);
    }
    result.push_back(left[best]);
    left.erase(left.begin() + static_cast<ptrdiff_t>(best));
    corners.erase(corners.begin() + static_cast<ptrdiff_t>(best));
  }
  std::sort(result.begin(), result.end());
  return result;
}

std::vector<size_t> sorted_indices(const std::vector<Losses>& points) {
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return points[a] < points[b]; });
  return order;
}

}  // namespace

Losses losses_of(const std::vector<double>& values, const std::vector<Direction>& directions) {
  Losses losses;
  for (size_t i = 0; i < directions.size(); ++i) {
    const double value = i < values.size() ? values[i] : std::numeric_limits<double>::quiet_NaN();
    const double loss = directions[i] == Direction::kMaximize ? -value : value;
    losses.push_back(std::isnan(loss) ? std::numeric_limits<double>::infinity() : loss);
  }
  return losses;
}

std::vector<size_t> domination_ranks(const std::vector<Losses>& points) {
  std::vector<size_t> ranks(points.size());
  std::vector<std::vector<size_t>> fronts;
  const Losses* before = nullptr;
  size_t rank = 0;
  // In sorted order nobody is dominated by a later one. Whoever is not covered by a front is not by any front behind it, so the
  // first such front is found by halving (Zhang et al. 2015).
  for (const size_t i : sorted_indices(points)) {
    if (before == nullptr || *before != points[i]) {
      const auto covered_by = [&](const std::vector<size_t>& front) {
        if (points[i].size() <= 2) return covers(points[front.back()], points[i]);  // the last is the lowest in the second
        return std::any_of(front.rbegin(), front.rend(), [&](size_t j) { return covers(points[j], points[i]); });
      };
      rank = static_cast<size_t>(std::partition_point(fronts.begin(), fronts.end(), covered_by) - fronts.begin());
      if (rank == fronts.size()) fronts.emplace_back();
      fronts[rank].push_back(i);
    }
    ranks[i] = rank;
    before = &points[i];
  }
  return ranks;
}

std::vector<size_t> pareto_front(const std::vector<Trial>& trials, const std::vector<Direction>& directions) {
  std::vector<size_t> complete;
  std::vector<Losses> points;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (trials[i].state != TrialState::kComplete || trials[i].values.size() < directions.size()) continue;
    if (std::any_of(trials[i].values.begin(), trials[i].values.end(), [](double value) { return std::isnan(value); })) continue;
    complete.push_back(i);
    points.push_back(losses_of(trials[i].values, directions));
  }
  const std::vector<size_t> ranks = domination_ranks(points);
  std::vector<size_t> front;
  for (size_t i = 0; i < complete.size(); ++i) {
    if (ranks[i] == 0) front.push_back(complete[i]);
  }
  return front;
}

double hypervolume(const std::vector<Losses>& points, const Losses& reference) {
  return front_volume(front_of(points), reference);
}

std::vector<size_t> largest_hypervolume(const std::vector<Losses>& points, size_t count, const Losses& reference) {
  std::vector<size_t> left, copies, result;
  for (const size_t i : sorted_indices(points)) (left.empty() || points[left.back()] != points[i] ? left : copies).push_back(i);
  if (count >= left.size()) {
    std::sort(copies.begin(), copies.end());
    result = left;
    result.insert(result.end(), copies.begin(),
                  copies.begin() + static_cast<ptrdiff_t>(std::min(count, points.size()) - left.size()));
    std::sort(result.begin(), result.end());
    return result;
  }
  if (is_front_of_two(points, left)) return largest_of_two(points, std::move(left), count, reference);
  std::vector<Losses> chosen;
  // What a point adds only falls while others are chosen: what it added once is a bound, and most need not be looked at again.
  std::vector<double> bound;
  for (const size_t i : left) bound.push_back(box(points[i], reference));
  while (result.size() < count) {
    std::vector<size_t> order(left.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return bound[a] > bound[b]; });
    size_t best = order.front();
    double most = -1;
    for (const size_t at : order) {
      if (bound[at] < most) break;
      if (!chosen.empty()) bound[at] = added_volume(points[left[at]], chosen, reference);
      if (bound[at] > most || (bound[at] == most && at < best)) {
        most = bound[at];
        best = at;
      }
    }
    result.push_back(left[best]);
    chosen.push_back(points[left[best]]);
    left.erase(left.begin() + static_cast<ptrdiff_t>(best));
    bound.erase(bound.begin() + static_cast<ptrdiff_t>(best));
  }
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace tessera
