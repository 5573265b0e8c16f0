#include "data/check/class_balance.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// In how many samples each class shows.
std::vector<int64_t> samples_with(const std::vector<SampleClasses>& samples, int num_classes, int64_t min_pixels) {
  std::vector<int64_t> count(static_cast<size_t>(num_classes));
  for (const SampleClasses& sample : samples) {
    for (const auto& [label, pixels] : sample.pixels) count.at(static_cast<size_t>(label)) += pixels >= min_pixels ? 1 : 0;
  }
  return count;
}

}  // namespace

std::vector<double> class_chances(const std::vector<SampleClasses>& samples, int num_classes, const BalanceConfig& balance) {
  std::vector<double> share(static_cast<size_t>(num_classes));
  double all = 0;
  for (const SampleClasses& sample : samples) {
    for (const auto& [label, pixels] : sample.pixels) {
      share.at(static_cast<size_t>(label)) += static_cast<double>(pixels);
      all += static_cast<double>(pixels);
    }
  }
  const std::vector<int64_t> shown = samples_with(samples, num_classes, balance.min_pixels);
  double rarest = 1;
  for (size_t c = 0; c < share.size(); ++c) {
    share[c] /= std::max(1.0, all);
    if (shown[c] > 0) rarest = std::min(rarest, share[c]);
  }
  std::vector<double> chances(share.size());
  double sum = 0;
  for (size_t c = 0; c < share.size(); ++c) {
    if (shown[c] == 0) continue;
    chances[c] = std::exp((rarest - share[c]) / balance.temperature);  // the largest exponent is 0: nothing overflows
    sum += chances[c];
  }
  for (double& chance : chances) chance /= std::max(1e-300, sum);
  return chances;
}

std::vector<double> sample_chances(const std::vector<SampleClasses>& samples, int num_classes, const BalanceConfig& balance) {
  const std::vector<double> of_class = class_chances(samples, num_classes, balance);
  const std::vector<int64_t> shown = samples_with(samples, num_classes, balance.min_pixels);
  if (std::none_of(shown.begin(), shown.end(), [](int64_t count) { return count > 0; }))
    fail_usage(
        "data.sampler=balanced: no sample has {} labelled pixels of any class; set data.balance.min_pixels to less, or "
        "data.sampler=shuffled",
        balance.min_pixels);
  const auto count = static_cast<double>(samples.size());
  std::vector<double> chances;
  for (const SampleClasses& sample : samples) {
    double chance = 0;
    for (const auto& [label, pixels] : sample.pixels) {
      const auto c = static_cast<size_t>(label);
      if (pixels >= balance.min_pixels) chance += of_class[c] / static_cast<double>(shown[c]);
    }
    chances.push_back(balance.strength * chance + (1 - balance.strength) / count);
  }
  return chances;
}

}  // namespace tessera
