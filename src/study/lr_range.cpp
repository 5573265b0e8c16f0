#include "study/lr_range.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

constexpr double kKept = 0.9;          // of the average at each step
constexpr double kDivergedAt = 4;      // times the least smoothed loss
constexpr size_t kFewest = 10;         // a step or two say nothing
constexpr double kWorthSaying = 0.02;  // a curve that falls by less does not fall

// Exponential averages whose weights add up to 1, from the first loss on.
std::vector<double> averages(const std::vector<double>& losses) {
  std::vector<double> result;
  double sum = 0, weight = 0;
  for (const double loss : losses) {
    sum = kKept * sum + (1 - kKept) * loss;
    weight = kKept * weight + (1 - kKept);
    result.push_back(sum / weight);
  }
  return result;
}

// A diverging end is cut off at twice what the losses were first: it would lift what lies before it.
std::vector<double> smoothed_from_both_ends(std::vector<double> losses) {
  const size_t first = std::min(kFewest, losses.size());
  double most = 0;
  for (size_t i = 0; i < first; ++i) most += 2 * losses[i] / static_cast<double>(first);
  for (double& loss : losses) loss = std::min(loss, most);
  std::vector<double> forward = averages(losses);
  const std::vector<double> backward = averages({losses.rbegin(), losses.rend()});
  for (size_t i = 0; i < losses.size(); ++i) forward[i] = (forward[i] + backward[losses.size() - 1 - i]) / 2;
  return forward;
}

}  // namespace

double LrSweep::factor() const {
  return std::pow(high / low, 1 / static_cast<double>(steps - 1));
}

double LrSweep::rate(int64_t step) const {
  return low * std::pow(factor(), static_cast<double>(step));
}

void LrRangeTest::add(double loss) {
  if (!std::isfinite(loss)) {
    diverged_ = true;
    return;
  }
  losses_.push_back(loss);
  average_ = kKept * average_ + (1 - kKept) * loss;
  weight_ = kKept * weight_ + (1 - kKept);
  const double now = average_ / weight_;
  least_ = losses_.size() == 1 ? now : std::min(least_, now);
  diverged_ = losses_.size() > kFewest && now > kDivergedAt * least_;
}

LrRangeCurve LrRangeTest::result() const {
  LrRangeCurve range;
  range.losses = losses_;
  range.diverged = diverged_;
  for (size_t i = 0; i < losses_.size(); ++i) range.rates.push_back(sweep_.rate(static_cast<int64_t>(i)));
  range.smoothed = smoothed_from_both_ends(losses_);
  if (losses_.size() < kFewest) return range;
  const auto lowest =
      static_cast<size_t>(std::min_element(range.smoothed.begin(), range.smoothed.end()) - range.smoothed.begin());
  range.minimum = range.rates[lowest];
  range.tenth_of_minimum = range.minimum / 10;
  range.falls = range.smoothed[lowest] <
                (1 - kWorthSaying) *
                    *std::max_element(range.smoothed.begin(), range.smoothed.begin() + static_cast<ptrdiff_t>(lowest) + 1);
  // All steps are equally far apart on the logarithm's scale.
  double fastest = 0;
  for (size_t i = 1; i < lowest; ++i) {
    const double fall = range.smoothed[i - 1] - range.smoothed[i + 1];
    if (fall > fastest) {
      fastest = fall;
      range.steepest = range.rates[i];
    }
  }
  range.falls = range.falls && range.steepest > 0;
  return range;
}

}  // namespace tessera
