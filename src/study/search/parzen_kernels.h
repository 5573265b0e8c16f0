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
//
// Observations come and go one by one, and only the kernels beside them are computed anew: what comes out is, to the bit, that
// of kernels made of all observations at once.
class ParzenKernels {
 public:
  ParzenKernels(const Parameter& parameter, const std::vector<double>& observations, const ParzenSettings& settings);

  void insert(size_t place, double observation);  // before the one that is at this place
  void erase(size_t place);

  // Adds the logarithm of each kernel's density (of a step: its mass) at each value to `sums`: (values, kernels).
  void add_log_density(const std::vector<double>& values, std::vector<double>& sums) const;
  double sample(size_t kernel, Rng& rng) const;

  // Of numbers: the centres and widths, on the logarithm's scale where there is one.
  const std::vector<double>& centres() const { return centres_; }
  const std::vector<double>& widths() const { return widths_; }

 private:
  size_t count() const { return observations_ + 1; }  // kernels, with the prior
  bool is_choice() const { return parameter_.kind == Parameter::Kind::kChoice; }
  double scaled(double value) const;
  void set_kernel(size_t kernel, double width);
  void set_width(size_t rank);  // of the observation that is at this place in order
  void set_all_widths();
  double narrowest() const;
  double choice_share() const;  // what every choice has of the kernel of any observation
  double choice_mass(size_t kernel, size_t choice) const;
  void add_choices(const std::vector<double>& values, std::vector<double>& sums) const;
  void add_masses_of_steps(const std::vector<double>& values, std::vector<double>& sums) const;

  Parameter parameter_;
  ParzenSettings settings_;
  size_t observations_;
  double low_ = 0, high_ = 0;    // scaled, with half a step around them
  double narrowest_ = 0;         // that all widths were set with
  std::vector<double> centres_;  // of choices: the choice, without the prior
  std::vector<double> widths_;
  std::vector<double> log_mass_;   // of each normal distribution between low and high
  std::vector<double> log_scale_;  // of each kernel's density at its centre
  std::vector<size_t> order_;      // the observations by their centres, of equal ones the first one first
};

}  // namespace tessera
