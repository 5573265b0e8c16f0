#include "study/search/parzen_estimator.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace tessera {

ParzenEstimator::ParzenEstimator(const std::vector<Parameter>& parameters, const std::vector<std::vector<double>>& observations,
                                 std::vector<double> weights, const ParzenSettings& settings)
    : weights_(std::move(weights)) {
  weights_.push_back(weights_.empty() ? 1 : settings.prior_weight);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (double& weight : weights_) weight /= sum;
  for (size_t i = 0; i < parameters.size(); ++i) {
    assert(observations[i].size() + 1 == weights_.size());
    dimensions_.emplace_back(parameters[i], observations[i], settings);
  }
}

std::vector<double> ParzenEstimator::sample(Rng& rng) const {
  double left = rng.uniform();
  size_t kernel = 0;
  while (kernel + 1 < weights_.size() && (left -= weights_[kernel]) >= 0) ++kernel;
  std::vector<double> point;
  for (const ParzenKernels& dimension : dimensions_) point.push_back(dimension.sample(kernel, rng));
  return point;
}

std::vector<double> ParzenEstimator::log_density(const std::vector<std::vector<double>>& points) const {
  const size_t count = points.front().size(), kernels = weights_.size();
  std::vector<double> sums(count * kernels);
  for (size_t i = 0; i < dimensions_.size(); ++i) dimensions_[i].add_log_density(points[i], sums);
  std::vector<double> log_weights, densities;
  for (const double weight : weights_) log_weights.push_back(std::log(weight));
  for (size_t p = 0; p < count; ++p) {
    double* row = sums.data() + p * kernels;
    for (size_t k = 0; k < kernels; ++k) row[k] += log_weights[k];
    const double most = *std::max_element(row, row + kernels);
    double sum = 0;
    for (size_t k = 0; k < kernels; ++k) sum += std::exp(row[k] - most);
    densities.push_back(most + std::log(sum));
  }
  return densities;
}

std::vector<double> weights_by_age(size_t n) {
  constexpr size_t kYoung = 25;
  std::vector<double> weights(n, 1.0);
  if (n <= kYoung) return weights;
  const size_t old = n - kYoung;
  const double least = 1 / static_cast<double>(n);
  for (size_t i = 0; i < old; ++i)
    weights[i] = old == 1 ? least : least + (1 - least) * static_cast<double>(i) / static_cast<double>(old - 1);
  return weights;
}

}  // namespace tessera
