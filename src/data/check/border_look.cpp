#include "data/check/border_look.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>
#include <set>
#include <unordered_map>

namespace tessera {
namespace {

constexpr int kLinesLookedAt = 256;  // of rows, and of columns
constexpr int kAreaRun = 3;          // pixels of one value in a line that make an area of it
constexpr int kMostSteps = 10;       // of a ramp
constexpr int kLeastGap = 3;         // between the values of two areas, so that there is room for two values in between
constexpr size_t kPairsKept = 4096;  // hostile masks have as many pairs as pixels

struct LineRun {
  int32_t value;
  int begin, length;
};

// Stored values as they lie on a line: for colours the brightness, as colours have no order.
int32_t level_of(const RawMask& mask, int32_t stored) {
  return mask.rgb ? ((stored >> 16) + (stored >> 8 & 0xFF) + (stored & 0xFF)) / 3 : stored;
}

class Walk {
 public:
  explicit Walk(const RawMask& mask) : mask_(mask) {}

  // Calls `line(runs, first, step)` for some rows and columns: pixel k of a line is value first + k * step.
  template <class F>
  void each_line(int most, F&& line) {
    walk(mask_.height, mask_.width, static_cast<size_t>(mask_.width), 1, most, line);
    walk(mask_.width, mask_.height, 1, static_cast<size_t>(mask_.width), most, line);
  }

 private:
  template <class F>
  void walk(int lines, int length, size_t line_step, size_t step, int most, F&& line) {
    const int count = std::min(lines, most);
    for (int i = 0; i < count; ++i) {
      const size_t first = static_cast<size_t>(int64_t{i} * lines / count) * line_step;
      runs_.clear();
      for (int k = 0; k < length; ++k) {
        const int32_t value = mask_.values[first + static_cast<size_t>(k) * step];
        if (runs_.empty() || runs_.back().value != value) runs_.push_back({value, k, 0});
        ++runs_.back().length;
      }
      line(runs_, first, step);
    }
  }

  const RawMask& mask_;
  std::vector<LineRun> runs_;
};

// What lies between the areas runs[from] and runs[to] steps from one to the other in one direction.
bool is_ramp(const RawMask& mask, const std::vector<LineRun>& runs, size_t from, size_t to) {
  const int32_t a = level_of(mask, runs[from].value), b = level_of(mask, runs[to].value);
  if (to - from < 2 || to - from > kMostSteps + 1 || std::abs(b - a) < kLeastGap) return false;
  for (size_t k = from + 1; k <= to; ++k) {
    const int32_t before = level_of(mask, runs[k - 1].value), here = level_of(mask, runs[k].value);
    if (b > a ? here <= before : here >= before) return false;
  }
  return true;
}

// Neighbours are mostly equal: a look into the table for each run of them.
std::unordered_map<int32_t, int64_t> count_values(const RawMask& mask) {
  std::unordered_map<int32_t, int64_t> counts;
  for (size_t i = 0, end = 0; i < mask.values.size(); i = end) {
    for (end = i + 1; end < mask.values.size() && mask.values[end] == mask.values[i];) ++end;
    if (counts.size() < kPairsKept * 16 || counts.contains(mask.values[i]))
      counts[mask.values[i]] += static_cast<int64_t>(end - i);
  }
  return counts;
}

int64_t count_specks(const RawMask& mask, const std::unordered_map<int32_t, int64_t>& counts) {
  constexpr int64_t kRareShare = 100;
  const int64_t rare = std::ssize(mask.values) / kRareShare;
  const auto height = static_cast<size_t>(mask.height), width = static_cast<size_t>(mask.width);
  int64_t specks = 0;
  for (size_t y = 1; y + 1 < height; ++y) {
    for (size_t x = 1; x + 1 < width; ++x) {
      const size_t at = y * width + x;
      const int32_t value = mask.values[at];
      if (value == mask.values[at - 1] || value == mask.values[at + 1]) continue;
      if (value == mask.values[at - width] || value == mask.values[at + width]) continue;
      const auto found = counts.find(value);
      specks += found == counts.end() || found->second <= rare ? 1 : 0;
    }
  }
  return specks;
}

}  // namespace

BorderLook look_at_borders(const RawMask& mask) {
  BorderLook look;
  const std::unordered_map<int32_t, int64_t> counts = count_values(mask);
  look.distinct = std::ssize(counts);
  // The values seen between each two areas.
  std::map<std::pair<int32_t, int32_t>, std::set<int32_t>> between;
  Walk(mask).each_line(kLinesLookedAt, [&](const std::vector<LineRun>& runs, size_t, size_t) {
    size_t last_area = runs.size();
    for (size_t k = 0; k < runs.size(); ++k) {
      if (runs[k].length < kAreaRun) continue;
      if (last_area < runs.size() && runs[last_area].value != runs[k].value) {
        ++look.borders;
        if (is_ramp(mask, runs, last_area, k)) {
          ++look.ramps;
          auto pair = std::minmax(runs[last_area].value, runs[k].value);
          if (between.size() < kPairsKept || between.contains(pair)) {
            std::set<int32_t>& seen = between[pair];
            for (size_t m = last_area + 1; m < k && seen.size() < kPairsKept; ++m) seen.insert(runs[m].value);
          }
        }
      }
      last_area = k;
    }
  });
  constexpr int64_t kLeastRamps = 8, kRampShare = 4, kManyValues = 12, kSpeckShare = 300;
  const bool several = std::any_of(between.begin(), between.end(), [](const auto& pair) { return pair.second.size() >= 2; });
  look.interpolated = several && look.ramps >= kLeastRamps && look.ramps * kRampShare >= look.borders;
  if (look.distinct >= kManyValues) look.specks = count_specks(mask, counts);
  look.noisy = !look.interpolated && look.specks * kSpeckShare >= std::ssize(mask.values) && look.specks > 0;
  return look;
}

std::vector<bool> computed_pixels(const RawMask& mask) {
  std::vector<bool> marked(mask.values.size());
  Walk(mask).each_line(std::max(mask.height, mask.width), [&](const std::vector<LineRun>& runs, size_t first, size_t step) {
    for (const LineRun& run : runs) {
      for (int k = run.begin; run.length < kAreaRun && k < run.begin + run.length; ++k)
        marked[first + static_cast<size_t>(k) * step] = true;
    }
  });
  return marked;
}

}  // namespace tessera
