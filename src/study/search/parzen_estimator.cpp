#include "study/search/parzen_estimator.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

namespace tessera {
namespace {

// Several side by side: one alone would wait for the comparison before it.
double greatest(std::span<const double> values) {
  std::array<double, 4> most;
  most.fill(-std::numeric_limits<double>::infinity());
  size_t i = 0;
  for (; i + most.size() <= values.size(); i += most.size()) {
    for (size_t j = 0; j < most.size(); ++j) most[j] = std::max(most[j], values[i + j]);
  }
  for (; i < values.size(); ++i) most[0] = std::max(most[0], values[i]);
  return *std::max_element(most.begin(), most.end());
}

double log_sum_exp(std::span<const double> values) {
  constexpr double kNothing = -45;  // exp(-45) = 3e-20: thousands of them are nothing in a sum of 1 or more
  const double most = greatest(values);
  double sum = 0;
  for (const double value : values) {
    if (value - most > kNothing) sum += std::exp(value - most);
  }
  return most + std::log(sum);
}

}  // namespace

ParzenEstimator::ParzenEstimator(const std::vector<Parameter>& parameters, const std::vector<std::vector<double>>& observations,
                                 std::vector<double> weights, const ParzenSettings& settings)
    : prior_weight_(settings.prior_weight) {
  for (size_t i = 0; i < parameters.size(); ++i) {
    assert(observations[i].size() == weights.size());
    dimensions_.emplace_back(parameters[i], observations[i], settings);
  }
  set_weights(std::move(weights));
}

void ParzenEstimator::insert(size_t place, const std::vector<double>& point) {
  for (size_t i = 0; i < dimensions_.size(); ++i) dimensions_[i].insert(place, point[i]);
}

void ParzenEstimator::erase(size_t place) {
  for (ParzenKernels& dimension : dimensions_) dimension.erase(place);
}

void ParzenEstimator::set_weights(std::vector<double> weights) {
  weights_ = std::move(weights);
  weights_.push_back(weights_.empty() ? 1 : prior_weight_);
  const double sum = std::accumulate(weights_.begin(), weights_.end(), 0.0);
  log_weights_.clear();
  for (double& weight : weights_) log_weights_.push_back(std::log(weight /= sum));
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
  std::vector<double> densities;
  for (size_t p = 0; p < count; ++p) {
    double* row = sums.data() + p * kernels;
    for (size_t k = 0; k < kernels; ++k) row[k] += log_weights_[k];
    densities.push_back(log_sum_exp({row, kernels}));
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
