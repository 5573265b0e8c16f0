#include "study/page/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/name_hash.h"
#include "core/rng.h"
#include "study/pareto.h"

namespace tessera {
namespace {

constexpr size_t kTrees = 64, kFewest = 10, kMost = 1000, kLeaf = 3;
constexpr double kNotInUse = -1;  // below every share

using Rows = std::vector<std::vector<double>>;

struct Table {
  Rows features;  // a row per trial: the share of each parameter
  std::vector<double> targets;
};

Table table_of(const Space& space, const std::vector<Trial>& trials, Direction direction) {
  Table table;
  std::vector<double> losses;
  for (const Trial& trial : trials) {
    if (trial.state != TrialState::kComplete || trial.values.empty()) continue;
    std::vector<double> row;
    for (const Parameter& parameter : space.parameters()) {
      const auto value = trial.parameters.find(parameter.name);
      row.push_back(value == trial.parameters.end() ? kNotInUse : parameter.share_of(value->second));
    }
    table.features.push_back(std::move(row));
    losses.push_back(losses_of({trial.values[0]}, {direction})[0]);
  }
  if (losses.size() > kMost) {  // the youngest
    table.features.erase(table.features.begin(), table.features.end() - kMost);
    losses.erase(losses.begin(), losses.end() - kMost);
  }
  for (const double loss : losses) {
    const auto below = std::count_if(losses.begin(), losses.end(), [&](double other) { return other < loss; });
    const auto equal = std::count(losses.begin(), losses.end(), loss);
    table.targets.push_back(static_cast<double>(below) + static_cast<double>(equal - 1) / 2);
  }
  return table;
}

class Tree {
 public:
  Tree(const Table& table, std::vector<size_t> rows) : table_(table) { grow(std::move(rows)); }

  double predict(const std::vector<double>& features) const {
    size_t at = 0;
    while (nodes_[at].left != 0)
      at = features[nodes_[at].parameter] < nodes_[at].threshold ? nodes_[at].left : nodes_[at].right;
    return nodes_[at].mean;
  }

 private:
  struct Node {
    size_t parameter = 0, left = 0, right = 0;  // left 0: a leaf
    double threshold = 0, mean = 0;
  };
  struct Split {
    double gain = 0, threshold = 0;
    size_t parameter = 0;
  };

  size_t grow(std::vector<size_t> rows) {
    const size_t at = nodes_.size();
    nodes_.emplace_back();
    double sum = 0;
    for (const size_t row : rows) sum += table_.targets[row];
    nodes_[at].mean = sum / static_cast<double>(rows.size());
    const Split split = best_split(rows, sum);
    if (split.gain <= 1e-9) return at;
    const auto middle = std::partition(rows.begin(), rows.end(),
                                       [&](size_t row) { return table_.features[row][split.parameter] < split.threshold; });
    nodes_[at].parameter = split.parameter;
    nodes_[at].threshold = split.threshold;
    const size_t left = grow({rows.begin(), middle}), right = grow({middle, rows.end()});
    nodes_[at].left = left;
    nodes_[at].right = right;
    return at;
  }

  // By how much the squares around the mean become less.
  Split best_split(std::vector<size_t>& rows, double sum) const {
    Split best;
    const auto n = static_cast<double>(rows.size());
    for (size_t p = 0; p < table_.features[0].size() && rows.size() >= 2 * kLeaf; ++p) {
      const auto feature = [&](size_t i) { return table_.features[rows[i]][p]; };
      std::sort(rows.begin(), rows.end(),
                [&](size_t a, size_t b) { return std::pair(table_.features[a][p], a) < std::pair(table_.features[b][p], b); });
      double left = 0;
      for (size_t i = 1; i + kLeaf <= rows.size(); ++i) {
        left += table_.targets[rows[i - 1]];
        if (i < kLeaf || feature(i) == feature(i - 1)) continue;
        const auto count = static_cast<double>(i);
        const double gain = left * left / count + (sum - left) * (sum - left) / (n - count) - sum * sum / n;
        if (gain > best.gain) best = {gain, (feature(i) + feature(i - 1)) / 2, p};
      }
    }
    return best;
  }

  const Table& table_;
  std::vector<Node> nodes_;
};

double squared_error(const Tree& tree, const Table& table, const std::vector<size_t>& rows, size_t parameter,
                     const std::vector<size_t>& takes_from) {
  double sum = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    std::vector<double> features = table.features[rows[i]];
    if (parameter < features.size()) features[parameter] = table.features[takes_from[i]][parameter];
    const double error = tree.predict(features) - table.targets[rows[i]];
    sum += error * error;
  }
  return sum / static_cast<double>(rows.size());
}

}  // namespace

std::vector<double> parameter_importance(const Space& space, const std::vector<Trial>& trials, Direction direction) {
  const Table table = table_of(space, trials, direction);
  const size_t n = table.targets.size(), parameters = space.parameters().size();
  if (n < kFewest) return {};
  const double mean = std::accumulate(table.targets.begin(), table.targets.end(), 0.0) / static_cast<double>(n);
  double variance = 0;
  for (const double target : table.targets) variance += (target - mean) * (target - mean) / static_cast<double>(n);
  std::vector<double> importance(parameters);
  if (variance == 0) return importance;
  for (size_t t = 0; t < kTrees; ++t) {
    Rng rng(0, Stream::kStudy, name_hash("study.importance"), t);
    std::vector<size_t> drawn, unseen;
    std::vector<bool> is_drawn(n);
    for (size_t i = 0; i < n; ++i) {
      drawn.push_back(rng.below(static_cast<uint32_t>(n)));
      is_drawn[drawn.back()] = true;
    }
    for (size_t i = 0; i < n; ++i) {
      if (!is_drawn[i]) unseen.push_back(i);
    }
    if (unseen.size() < 2) continue;
    const Tree tree(table, drawn);
    const double usual = squared_error(tree, table, unseen, parameters, unseen);
    for (size_t p = 0; p < parameters; ++p) {
      std::vector<size_t> exchanged = unseen;
      for (size_t i = exchanged.size() - 1; i > 0; --i)
        std::swap(exchanged[i], exchanged[rng.below(static_cast<uint32_t>(i + 1))]);
      importance[p] += (squared_error(tree, table, unseen, p, exchanged) - usual) / (2 * variance) / kTrees;
    }
  }
  for (double& share : importance) share = std::max(0.0, share);
  return importance;
}

}  // namespace tessera
