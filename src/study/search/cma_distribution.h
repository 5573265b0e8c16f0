#pragma once
#include <vector>

#include "core/rng.h"
#include "study/search/symmetric_eigen.h"

namespace tessera {

// The normal distribution of CMA-ES and how it learns from a generation (Hansen 2016: The CMA Evolution Strategy, a tutorial;
// with negative weights). Points are in the cube between 0 and 1.
class CmaDistribution {
 public:
  // population: at least 4.
  CmaDistribution(std::vector<double> mean, double sigma, size_t population);
  CmaDistribution(std::vector<double> mean, double sigma, const SquareMatrix& covariance, size_t population);

  // A point in the cube: drawn anew while it is outside, 10 times per dimension, then moved to its edge.
  std::vector<double> sample(Rng rng) const;

  // The generation's points, the best first; as many as the population has.
  void learn(const std::vector<std::vector<double>>& ranked);

  // The point, brought so near to the mean as points of this distribution are: for one that was drawn from another one (Hansen
  // 2011: Injecting external solutions into CMA-ES).
  std::vector<double> brought_near(const std::vector<double>& point) const;

  // Whether it has become too narrow to go on, in every direction or compared with the widest one.
  bool has_converged() const;

  static size_t usual_population(size_t dimensions);  // 4 + 3 ln(dimensions)

  size_t population() const { return weights_.size(); }
  const std::vector<double>& mean() const { return mean_; }
  double sigma() const { return sigma_; }
  const SquareMatrix& covariance() const { return covariance_; }
  const std::vector<double>& path_of_sigma() const { return path_sigma_; }
  const std::vector<double>& path_of_covariance() const { return path_covariance_; }

 private:
  void decompose();
  std::vector<double> drawn(Rng& rng) const;
  void learn_covariance(const std::vector<std::vector<double>>& steps, bool path_is_long);

  std::vector<double> mean_;
  double sigma_, first_sigma_;
  SquareMatrix covariance_;
  SquareMatrix root_, inverse_root_;  // of the covariance
  double narrowest_ = 1, widest_ = 1;
  std::vector<double> path_sigma_, path_covariance_;
  int64_t generation_ = 0;

  // Settings of the tutorial's table 1.
  std::vector<double> weights_;
  size_t parents_;
  double mass_ = 0, c_sigma_ = 0, d_sigma_ = 0, c_path_ = 0, c_one_ = 0, c_mu_ = 0, expected_length_ = 0;
};

}  // namespace tessera
