#pragma once
#include <vector>

#include "study/search/parzen_kernels.h"

namespace tessera {

// The density of points that were observed, over several parameters at once: a mixture of products of kernels, one product per
// observation and one for the prior (Bergstra et al. 2011; over several parameters Falkner et al. 2018).
class ParzenEstimator {
 public:
  // observations: a list per parameter, all of one length; weights: one per observation.
  ParzenEstimator(const std::vector<Parameter>& parameters, const std::vector<std::vector<double>>& observations,
                  std::vector<double> weights, const ParzenSettings& settings);

  // Observations that come and go; `place` as in ParzenKernels. Weights are told once all have.
  void insert(size_t place, const std::vector<double>& point);
  void erase(size_t place);
  void set_weights(std::vector<double> weights);

  // A value per parameter.
  std::vector<double> sample(Rng& rng) const;
  // points: a list per parameter, as observations.
  std::vector<double> log_density(const std::vector<std::vector<double>>& points) const;

  const std::vector<double>& weights() const { return weights_; }  // the prior's last; together 1
  const ParzenKernels& kernels(size_t dimension) const { return dimensions_[dimension]; }

 private:
  double prior_weight_;
  std::vector<double> weights_, log_weights_;
  std::vector<ParzenKernels> dimensions_;
};

// What an observation weighs by its age, oldest first: the 25 youngest 1, those before them less, evenly down to 1/n.
std::vector<double> weights_by_age(size_t n);

}  // namespace tessera
