#include "metric/resampling.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"
#include "core/name_hash.h"
#include "core/rng.h"

namespace tessera {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

using Totals = std::vector<ClassCounts>;

void add_times(Totals& totals, const ImageCounts& image, int64_t times) {
  for (const auto& [c, counts] : image) {
    ClassCounts& sum = totals[static_cast<size_t>(c)];
    sum.tp += times * counts.tp;
    sum.fp += times * counts.fp;
    sum.fn += times * counts.fn;
    sum.tn += times * counts.tn;
  }
}

Totals total_of(std::span<const ImageCounts> images, const std::vector<int64_t>& times, const Resampling& how) {
  Totals totals(static_cast<size_t>(how.num_classes));
  for (size_t i = 0; i < images.size(); ++i) {
    if (times[i] != 0) add_times(totals, images[i], times[i]);
  }
  return totals;
}

Rng rng_of(const Resampling& how, const char* purpose, int round) {
  return {how.seed, Stream::kStudy, name_hash(purpose), static_cast<uint64_t>(round)};
}

// How often each image is drawn in a round.
std::vector<int64_t> drawn(size_t images, const Resampling& how, int round) {
  Rng rng = rng_of(how, "bootstrap", round);
  std::vector<int64_t> times(images);
  for (size_t i = 0; i < images; ++i) ++times[rng.below(static_cast<uint32_t>(images))];
  return times;
}

// Between order statistics as NumPy's `percentile` has it. `values` are sorted.
double quantile(const std::vector<double>& values, double share) {
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  const size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

Interval interval_of(std::vector<double> values, double confidence) {
  const size_t rounds = values.size();
  std::erase_if(values, [](double v) { return std::isnan(v); });
  if (values.empty() || 2 * values.size() < rounds) return {};
  std::sort(values.begin(), values.end());
  return {quantile(values, (1 - confidence) / 2), quantile(values, (1 + confidence) / 2)};
}

// By metric, then by round.
std::vector<std::vector<double>> by_metric(int rounds, const std::function<std::vector<double>(int)>& measured) {
  std::vector<std::vector<double>> values;
  for (int round = 0; round < rounds; ++round) {
    const std::vector<double> now = measured(round);
    values.resize(now.size());
    for (size_t m = 0; m < now.size(); ++m) values[m].push_back(now[m]);
  }
  return values;
}

std::vector<double> minus(std::vector<double> a, const std::vector<double>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

// The metrics' differences where each image's predictions are exchanged, or not, at random.
std::vector<double> exchanged(std::span<const ImageCounts> first, std::span<const ImageCounts> second, const Resampling& how,
                              int round) {
  Rng rng = rng_of(how, "exchange", round);
  Totals a(static_cast<size_t>(how.num_classes)), b = a;
  for (size_t i = 0; i < first.size(); ++i) {
    const bool swap = rng.chance(0.5);
    add_times(a, swap ? second[i] : first[i], 1);
    add_times(b, swap ? first[i] : second[i], 1);
  }
  return minus(counted_metrics(b, how.overlap), counted_metrics(a, how.overlap));
}

}  // namespace

std::vector<Interval> metric_intervals(std::span<const ImageCounts> images, const Resampling& how) {
  const std::vector<int64_t> once(images.size(), 1);
  std::vector<Interval> intervals(counted_metrics(total_of(images, once, how), how.overlap).size());
  if (images.size() < 2) return intervals;
  const auto values = by_metric(how.rounds, [&](int round) {
    return counted_metrics(total_of(images, drawn(images.size(), how, round), how), how.overlap);
  });
  for (size_t m = 0; m < values.size(); ++m) intervals[m] = interval_of(values[m], how.confidence);
  return intervals;
}

std::vector<PairedDifference> paired_differences(std::span<const ImageCounts> first, std::span<const ImageCounts> second,
                                                 const Resampling& how) {
  TSR_CHECK(first.size() == second.size(), "expected the same images of both, got {} and {}", first.size(), second.size());
  const auto difference = [&](const std::vector<int64_t>& times) {
    return minus(counted_metrics(total_of(second, times, how), how.overlap),
                 counted_metrics(total_of(first, times, how), how.overlap));
  };
  const std::vector<double> seen = difference(std::vector<int64_t>(first.size(), 1));
  std::vector<PairedDifference> result(seen.size());
  for (size_t m = 0; m < seen.size(); ++m) result[m].value = seen[m];
  if (first.size() < 2) return result;

  const auto resampled = by_metric(how.rounds, [&](int round) { return difference(drawn(first.size(), how, round)); });
  const auto by_chance = by_metric(how.rounds, [&](int round) { return exchanged(first, second, how, round); });
  for (size_t m = 0; m < seen.size(); ++m) {
    if (std::isnan(seen[m])) continue;
    result[m].interval = interval_of(resampled[m], how.confidence);
    // Differences that are equal but for the order of their sums count as reached.
    const double reached = std::abs(seen[m]) * (1 - 1e-12);
    const auto as_large =
        std::count_if(by_chance[m].begin(), by_chance[m].end(), [&](double d) { return std::abs(d) >= reached; });
    const auto measured = std::count_if(by_chance[m].begin(), by_chance[m].end(), [](double d) { return !std::isnan(d); });
    result[m].p = static_cast<double>(1 + as_large) / static_cast<double>(1 + measured);
  }
  return result;
}

std::vector<double> holm_adjusted(const std::vector<double>& p) {
  std::vector<size_t> order;
  for (size_t i = 0; i < p.size(); ++i) {
    if (!std::isnan(p[i])) order.push_back(i);
  }
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size(), kNone);
  double largest = 0;
  for (size_t rank = 0; rank < order.size(); ++rank) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(order.size() - rank) * p[order[rank]]));
    adjusted[order[rank]] = largest;
  }
  return adjusted;
}

}  // namespace tessera
