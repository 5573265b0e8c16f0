#include "study/search/grid_search.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

std::vector<double> grid_values(const Parameter& p) {
  std::vector<double> values;
  const int64_t count = p.points > 0 ? p.points : p.cardinality();
  TSR_CHECK_USAGE(count > 0, "grid search: {} is a range without steps; say how many values to take: 'points: 5'", p.name);
  TSR_CHECK_USAGE(count <= GridSearch::kMaxPoints,
                  "grid search: {} has {} values; expected at most {}: 'points: 5' takes 5 of them", p.name, count,
                  GridSearch::kMaxPoints);
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i), all = static_cast<double>(count);
    if (p.points == 0) {
      values.push_back(p.kind == Parameter::Kind::kChoice ? at : p.snapped(p.low + at * p.step));
    } else if (p.normal || count == 1) {
      values.push_back(p.at_share((at + 0.5) / all));
    } else {  // both ends belong to it
      const double share = at / (all - 1);
      values.push_back(p.snapped(p.log ? p.low * std::pow(p.high / p.low, share) : p.low + share * (p.high - p.low)));
    }
  }
  values.erase(std::unique(values.begin(), values.end()), values.end());  // neighbours that a step made one
  return values;
}

class Enumeration {
 public:
  explicit Enumeration(const Space& space) : space_(space) {
    for (const Parameter& p : space.parameters()) values_.push_back(grid_values(p));
  }

  std::vector<Assignment> points() {
    add(0, {});
    return std::move(points_);
  }

 private:
  void add(size_t depth, const Assignment& above) {
    if (depth == values_.size()) {
      check_size();
      points_.push_back(above);
      return;
    }
    const Parameter& parameter = space_.parameters()[depth];
    if (!space_.is_active(parameter, above)) return add(depth + 1, above);
    for (const double value : values_[depth]) {
      Assignment point = above;
      point[parameter.name] = value;
      add(depth + 1, point);
    }
  }

  void check_size() const {
    if (static_cast<int64_t>(points_.size()) < GridSearch::kMaxPoints) return;
    double all = 1;
    std::string sizes;
    for (const auto& values : values_) {
      all *= static_cast<double>(values.size());
      sizes += (sizes.empty() ? "" : " x ") + std::to_string(values.size());
    }
    fail_usage("grid search: {} = {:.3g} points are more than {}; take fewer values, or search: random, sobol or tpe", sizes,
               all, GridSearch::kMaxPoints);
  }

  const Space& space_;
  std::vector<std::vector<double>> values_;
  std::vector<Assignment> points_;
};

}  // namespace

GridSearch::GridSearch(const Space& space) : points_(Enumeration(space).points()) {}

std::optional<Assignment> GridSearch::suggest(int64_t number) {
  if (number >= size()) return std::nullopt;
  return points_[static_cast<size_t>(number)];
}

}  // namespace tessera
