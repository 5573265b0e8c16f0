#pragma once
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "metric/image_counts.h"

namespace tessera {

// Note [Resampling images]
// A validation set is a sample of the images that a model will meet: how much its metrics would move with another sample is
// found by drawing images from it, with replacement, as many as it has, and measuring again (Efron's bootstrap; the interval is
// that between percentiles). Counts of the drawn images are added before anything is divided, as in an evaluation. Two models
// that saw the same images are compared in pairs: the same images are drawn for both, and under the hypothesis that they are
// equally good it does not matter which of both made the prediction of an image, so exchanging them at random shows which
// differences come about by chance (a paired permutation test). Neither knows how much another seed of training would change.

struct Interval {
  double low = std::numeric_limits<double>::quiet_NaN(), high = std::numeric_limits<double>::quiet_NaN();
};

struct Resampling {
  int num_classes = 0;
  bool overlap = false;  // classes do
  int rounds = 2000;
  double confidence = 0.95;
  uint64_t seed = 0;
};

// Of each of counted_metrics. NaN where there are fewer than two images, or where half of the rounds cannot measure it.
std::vector<Interval> metric_intervals(std::span<const ImageCounts> images, const Resampling& how);

// How much better the second is than the first in one metric.
struct PairedDifference {
  double value = std::numeric_limits<double>::quiet_NaN();
  Interval interval = {};
  double p = std::numeric_limits<double>::quiet_NaN();  // of a difference at least this large, either way, by chance
};

// Of each of counted_metrics: `second` minus `first`, whose images are the same in the same order.
std::vector<PairedDifference> paired_differences(std::span<const ImageCounts> first, std::span<const ImageCounts> second,
                                                 const Resampling& how);

// Values of p of questions that were asked together, each as large as it has to be so that all of them are wrong with the
// probability of the smallest at most (Holm 1979). NaN stay.
std::vector<double> holm_adjusted(const std::vector<double>& p);

}  // namespace tessera
