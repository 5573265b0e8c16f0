#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "study/search/parzen_estimator.h"
#include "study/search/tpe_branch.h"
#include "study/space/space.h"

namespace tessera {

// Parameters that have one density together: all of them are in use, or none. Densities are those of trials in which they are.
class TpeGroup {
 public:
  // members: indices of the space's parameters; branch: their condition's number.
  TpeGroup(const Space& space, std::vector<size_t> members, size_t branch);

  const std::vector<size_t>& members() const { return members_; }
  size_t branch() const { return branch_; }

  // weights: one per trial.
  ParzenEstimator density(const TpeTrials& trials, std::vector<double> weights, const ParzenSettings& settings) const;

  // With weights by age. It is kept, and only what has changed since the last call is computed: from one suggestion to the next
  // a trial or two come and go. The settings must be those of the last call.
  const ParzenEstimator& kept_density(const TpeTrials& trials, const ParzenSettings& settings);
  void forget_kept() { kept_.reset(); }  // where a trial has another point than before

 private:
  void change(int64_t number, const TpePoint* point);  // of what is kept; null: the trial goes

  struct Kept {
    ParzenEstimator density;
    std::vector<int64_t> numbers;
  };

  std::vector<size_t> members_;
  size_t branch_;
  std::vector<Parameter> parameters_;
  std::optional<Kept> kept_;
};

// The groups of a space: of the parameters that are in use under the same condition, or one of each parameter. Those that are
// taken in turn, or have one value, are in none. Branch 0 is that of no condition.
std::vector<TpeGroup> tpe_groups(const Space& space, bool multivariate);

}  // namespace tessera
