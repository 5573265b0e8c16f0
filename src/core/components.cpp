#include "core/components.h"

#include <algorithm>
#include <optional>

namespace tessera {
namespace {

// Union-find over runs. A set's root is its smallest member, so that roots come in the order of first pixels.
class RunSets {
 public:
  void add() { parents_.push_back(static_cast<int32_t>(parents_.size())); }

  int32_t root(int32_t run) {
    while (parents_[static_cast<size_t>(run)] != run) {
      int32_t& parent = parents_[static_cast<size_t>(run)];
      parent = parents_[static_cast<size_t>(parent)];  // halves the path for the next one
      run = parent;
    }
    return run;
  }

  void join(int32_t a, int32_t b) {
    a = root(a);
    b = root(b);
    parents_[static_cast<size_t>(std::max(a, b))] = std::min(a, b);
  }

 private:
  std::vector<int32_t> parents_;
};

void add_runs_of_row(const LabelMap& map, int y, std::optional<int16_t> only, std::vector<Run>& runs) {
  const int16_t* row = map.labels.data() + static_cast<size_t>(y) * static_cast<size_t>(map.width);
  for (int x = 0; x < map.width;) {
    const int begin = x;
    while (x < map.width && row[x] == row[begin]) ++x;
    if (only ? row[begin] == *only : row[begin] != kIgnoreLabel) runs.push_back({y, begin, x, 0});
  }
}

// label_of: the class of a run.
template <class LabelOf>
Components connect(Size size, std::vector<Run> all, Connectivity connectivity, const LabelOf& label_of) {
  Components found{.size = size, .runs = std::move(all), .regions = {}};
  std::vector<Run>& runs = found.runs;
  RunSets sets;
  const int reach = connectivity == Connectivity::kEight ? 1 : 0;  // columns by which a neighbour may lie beside a run
  size_t above = 0;                                                // runs from here to `first` are of the row above
  for (size_t first = 0, end = 0; first < runs.size(); above = first, first = end) {
    while (end < runs.size() && runs[end].y == runs[first].y) ++end;
    size_t candidate = runs[above].y == runs[first].y - 1 ? above : first;
    for (size_t i = first; i < end; ++i) {
      sets.add();
      // Runs above that end before this one begins end before all that follow it, too.
      while (candidate < first && runs[candidate].end + reach <= runs[i].begin) ++candidate;
      for (size_t j = candidate; j < first && runs[j].begin < runs[i].end + reach; ++j) {
        if (label_of(runs[j]) == label_of(runs[i])) sets.join(static_cast<int32_t>(j), static_cast<int32_t>(i));
      }
    }
  }
  for (size_t i = 0; i < runs.size(); ++i) {
    Run& run = runs[i];
    const auto root = static_cast<size_t>(sets.root(static_cast<int32_t>(i)));
    if (root == i) {
      run.region = static_cast<int32_t>(found.regions.size());
      found.regions.push_back({label_of(run), 0, run.y, run.begin, run.y, run.end});
    } else {
      run.region = runs[root].region;
    }
    Region& region = found.regions[static_cast<size_t>(run.region)];
    region.area += run.end - run.begin;
    region.left = std::min(region.left, run.begin);
    region.right = std::max(region.right, run.end);
    region.bottom = run.y + 1;
  }
  return found;
}

Components find(const LabelMap& map, Connectivity connectivity, std::optional<int16_t> only) {
  std::vector<Run> runs;
  for (int y = 0; y < map.height; ++y) add_runs_of_row(map, y, only, runs);
  return connect(map.size(), std::move(runs), connectivity, [&](const Run& run) { return map.at(run.y, run.begin); });
}

}  // namespace

std::vector<int32_t> Components::region_map() const {
  std::vector<int32_t> map(static_cast<size_t>(size.height) * static_cast<size_t>(size.width), -1);
  for (const Run& run : runs) {
    const auto row = map.begin() + static_cast<int64_t>(run.y) * size.width;
    std::fill(row + run.begin, row + run.end, run.region);
  }
  return map;
}

Components connected_components(const LabelMap& map, Connectivity connectivity) {
  return find(map, connectivity, std::nullopt);
}

Components connected_components_of(const LabelMap& map, int16_t label, Connectivity connectivity) {
  return find(map, connectivity, label);
}

Components connect_runs(Size size, std::vector<Run> runs, int16_t label, Connectivity connectivity) {
  return connect(size, std::move(runs), connectivity, [&](const Run&) { return label; });
}

}  // namespace tessera
