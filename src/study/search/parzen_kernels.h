#pragma once
#include <cstddef>
#include <vector>

#include "core/rng.h"
#include "study/space/parameter.h"

namespace tessera {

struct ParzenSettings {
  double prior_weight = 1;  // of the parameter's own distribution, where an observation has 1
  bool magic_clip = true;   // no kernel narrower than the range / min(100, 1 + n); n: the number of kernels, or if more
  double clip_count = 0;    // this
};

// One dimension of a Parzen estimator: a kernel around each observation, and after them the prior, which is the whole range.
// The kernels are those of Optuna: normal distributions cut off at the range, over the logarithm where the parameter has one,
// or the observed choice with a little of all others.
class ParzenKernels {
 public:
  ParzenKernels(const Parameter& parameter, const std::vector<double>& observations, const ParzenSettings& settings);

  // Adds the logarithm of each kernel's density (of a step: its mass) at each value to `sums`: (values, kernels).
  void add_log_density(const std::vector<double>& values, std::vector<double>& sums) const;
  double sample(size_t kernel, Rng& rng) const;

  // Of numbers: the centres and widths, on the logarithm's scale where there is one.
  const std::vector<double>& centres() const { return centres_; }
  const std::vector<double>& widths() const { return widths_; }

 private:
  double scaled(double value) const;
  void set_widths(const ParzenSettings& settings);
  double choice_mass(size_t kernel, size_t choice) const;
  void add_masses_of_steps(const std::vector<double>& values, std::vector<double>& sums) const;

  Parameter parameter_;
  size_t count_;               // kernels, with the prior
  double low_ = 0, high_ = 0;  // scaled, with half a step around them
  std::vector<double> centres_, widths_;
  std::vector<double> log_mass_;  // of each normal distribution between low and high
  double choice_share_ = 0;       // what every choice has of the kernel of any observation
};

}  // namespace tessera
