#include "study/search/cma_distribution.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

namespace tessera {
namespace {

double length(const std::vector<double>& vector) {
  return std::sqrt(std::inner_product(vector.begin(), vector.end(), vector.begin(), 0.0));
}

double sum_of_squares(double sum, double x) {
  return sum + x * x;
}

}  // namespace

size_t CmaDistribution::usual_population(size_t dimensions) {
  return static_cast<size_t>(4 + std::floor(3 * std::log(static_cast<double>(dimensions))));
}

CmaDistribution::CmaDistribution(std::vector<double> mean, double sigma, size_t population)
    : CmaDistribution(mean, sigma, SquareMatrix::identity(mean.size()), population) {}

CmaDistribution::CmaDistribution(std::vector<double> mean, double sigma, const SquareMatrix& covariance, size_t population)
    : mean_(std::move(mean)),
      sigma_(sigma),
      first_sigma_(sigma),
      covariance_(covariance),
      path_sigma_(mean_.size()),
      path_covariance_(mean_.size()),
      weights_(population),
      parents_(population / 2) {
  assert(population >= 4);
  const auto n = static_cast<double>(mean_.size());
  for (size_t i = 0; i < population; ++i)
    weights_[i] = std::log((static_cast<double>(population) + 1) / 2) - std::log(static_cast<double>(i) + 1);
  const auto split = weights_.begin() + static_cast<ptrdiff_t>(parents_);
  const auto effective = [](auto from, auto to) {
    const double sum = std::accumulate(from, to, 0.0);
    return sum * sum / std::accumulate(from, to, 0.0, sum_of_squares);
  };
  mass_ = effective(weights_.begin(), split);
  const double mass_of_rest = effective(split, weights_.end());
  c_one_ = 2 / ((n + 1.3) * (n + 1.3) + mass_);
  c_mu_ = std::min(1 - c_one_ - 1e-8, 2 * (mass_ - 2 + 1 / mass_) / ((n + 2) * (n + 2) + mass_));
  const double rest_share =
      std::min({1 + c_one_ / c_mu_, 1 + 2 * mass_of_rest / (mass_ + 2), (1 - c_one_ - c_mu_) / (n * c_mu_)});
  double positive = 0, negative = 0;
  for (const double weight : weights_) (weight > 0 ? positive : negative) += std::abs(weight);
  for (double& weight : weights_) weight *= weight >= 0 ? 1 / positive : rest_share / negative;
  c_sigma_ = (mass_ + 2) / (n + mass_ + 5);
  d_sigma_ = 1 + 2 * std::max(0.0, std::sqrt((mass_ - 1) / (n + 1)) - 1) + c_sigma_;
  c_path_ = (4 + mass_ / n) / (n + 4 + 2 * mass_ / n);
  expected_length_ = std::sqrt(n) * (1 - 1 / (4 * n) + 1 / (21 * n * n));
  decompose();
}

void CmaDistribution::decompose() {
  const size_t n = mean_.size();
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) covariance_(i, j) = covariance_(j, i) = (covariance_(i, j) + covariance_(j, i)) / 2;
  }
  const SymmetricEigen eigen = symmetric_eigen(covariance_);
  std::vector<double> variances = eigen.values, widths, inverse;
  for (double& variance : variances) {
    if (variance < 0) variance = 1e-8;  // by rounding alone
    widths.push_back(std::sqrt(variance));
    inverse.push_back(1 / widths.back());
  }
  covariance_ = eigen.with_values(variances);
  root_ = eigen.with_values(widths);
  inverse_root_ = eigen.with_values(inverse);
  narrowest_ = *std::min_element(widths.begin(), widths.end());
  widest_ = *std::max_element(widths.begin(), widths.end());
}

std::vector<double> CmaDistribution::drawn(Rng& rng) const {
  std::vector<double> normal(mean_.size());
  for (double& x : normal) x = rng.normal();
  std::vector<double> point = root_ * normal;
  for (size_t i = 0; i < point.size(); ++i) point[i] = mean_[i] + sigma_ * point[i];
  return point;
}

std::vector<double> CmaDistribution::sample(Rng rng) const {
  std::vector<double> point;
  for (size_t i = 0; i <= 10 * mean_.size(); ++i) {
    point = drawn(rng);
    if (std::all_of(point.begin(), point.end(), [](double x) { return x >= 0 && x <= 1; })) return point;
  }
  for (double& x : point) x = std::clamp(x, 0.0, 1.0);
  return point;
}

std::vector<double> CmaDistribution::brought_near(const std::vector<double>& point) const {
  const auto n = static_cast<double>(mean_.size());
  const double farthest = std::sqrt(n) + 2 * n / (n + 2);
  std::vector<double> step(point.size());
  for (size_t i = 0; i < step.size(); ++i) step[i] = (point[i] - mean_[i]) / sigma_;
  const double far = length(inverse_root_ * step);
  if (far <= farthest) return point;
  std::vector<double> nearer(point.size());
  for (size_t i = 0; i < step.size(); ++i) nearer[i] = mean_[i] + sigma_ * step[i] * farthest / far;
  return nearer;
}

void CmaDistribution::learn(const std::vector<std::vector<double>>& ranked) {
  assert(ranked.size() == population());
  ++generation_;
  const size_t n = mean_.size();
  std::vector<std::vector<double>> steps;
  std::vector<double> mean_step(n);
  for (size_t k = 0; k < ranked.size(); ++k) {
    std::vector<double> step(n);
    for (size_t i = 0; i < n; ++i) step[i] = (ranked[k][i] - mean_[i]) / sigma_;
    for (size_t i = 0; i < n && k < parents_; ++i) mean_step[i] += weights_[k] * step[i];
    steps.push_back(std::move(step));
  }
  for (size_t i = 0; i < n; ++i) mean_[i] += sigma_ * mean_step[i];

  const std::vector<double> round_step = inverse_root_ * mean_step;
  for (size_t i = 0; i < n; ++i)
    path_sigma_[i] = (1 - c_sigma_) * path_sigma_[i] + std::sqrt(c_sigma_ * (2 - c_sigma_) * mass_) * round_step[i];
  const double path = length(path_sigma_);
  sigma_ = std::min(sigma_ * std::exp(c_sigma_ / d_sigma_ * (path / expected_length_ - 1)), 1e32);

  const double usual = std::sqrt(1 - std::pow(1 - c_sigma_, 2.0 * static_cast<double>(generation_ + 1)));
  const bool path_is_long = path / usual >= (1.4 + 2 / (static_cast<double>(n) + 1)) * expected_length_;
  for (size_t i = 0; i < n; ++i)
    path_covariance_[i] =
        (1 - c_path_) * path_covariance_[i] + (path_is_long ? 0 : std::sqrt(c_path_ * (2 - c_path_) * mass_) * mean_step[i]);
  learn_covariance(steps, path_is_long);
  decompose();
}

void CmaDistribution::learn_covariance(const std::vector<std::vector<double>>& steps, bool path_is_long) {
  const size_t n = mean_.size();
  std::vector<double> weights = weights_;
  for (size_t k = 0; k < steps.size(); ++k) {
    const double far = length(inverse_root_ * steps[k]);
    if (weights[k] < 0) weights[k] *= static_cast<double>(n) / (far * far + 1e-8);
  }
  const double lost = path_is_long ? c_path_ * (2 - c_path_) : 0;
  const double kept = 1 + c_one_ * lost - c_one_ - c_mu_ * std::accumulate(weights_.begin(), weights_.end(), 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double of_steps = 0;
      for (size_t k = 0; k < steps.size(); ++k) of_steps += weights[k] * steps[k][i] * steps[k][j];
      covariance_(i, j) = kept * covariance_(i, j) + c_one_ * path_covariance_[i] * path_covariance_[j] + c_mu_ * of_steps;
    }
  }
}

bool CmaDistribution::has_converged() const {
  return sigma_ * widest_ < 1e-12 * first_sigma_ || widest_ / narrowest_ > 1e14 || sigma_ * widest_ > 1e4;
}

}  // namespace tessera
