#pragma once
#include <functional>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "core/rng.h"
#include "study/search/search_config.h"
#include "study/search/search_context.h"
#include "study/search/searcher.h"
#include "study/search/tpe_branch.h"
#include "study/search/tpe_group.h"

namespace tessera {

// Note [TPE]
// The tree-structured Parzen estimator (Bergstra et al. 2011) as Optuna has it: trials are parted into a good tenth and the
// rest, each part is a density over the space, and of some points drawn from the good one that with the largest ratio good /
// rest is suggested. Parameters that are in use under the same condition have one density together (`multivariate`), made of
// the trials in which they were in use.
//
// It differs from Optuna's where that is measurably or plainly better:
// - Parameters of a condition learn from the trials in which they were in use, parted by themselves: the best of a branch are
//   good there, though those of other branches be better. Optuna parts all trials at once, and where another branch is ahead
//   has nothing good in this one to learn from.
// - It begins with Sobol's points rather than with random ones.
// - Good trials weigh as much as they are better than the rest (one objective; Watanabe 2023).
// - Their kernels may become as narrow as half the number of all trials allows, not only as the number of the good ones does.
// - What was tried is not tried again as long as there is something else.
// - Failed trials count among the rest, so that a rate at which everything diverges is left alone.
class TpeSearch final : public Searcher {
 public:
  TpeSearch(const TpeSearchConfig& config, const SearchContext& context);

  std::optional<Assignment> suggest(int64_t number) override;
  // A trial that is not of the space, as an earlier study's may be, is as if it were not there. What is told of one that has
  // ended is the last word.
  void observe(const Trial& trial) override;

 private:
  class Densities;
  void forget(int64_t number);
  void drop_unneeded();
  bool was_dropped(int64_t number) const;
  Assignment first_point(int64_t number) const;
  Assignment random_point(int64_t number, Rng& rng) const;
  Assignment promising_point(Densities& densities, int64_t number, Rng& rng) const;
  // A point whose values are those of `value_of`, by index, but for parameters that are taken in turn or not in use.
  Assignment placed(int64_t number, const std::function<double(size_t)>& value_of) const;
  bool was_tried(const Assignment& assignment, int64_t number) const;
  TpePoint row_of(const Assignment& assignment) const;

  TpeSearchConfig config_;
  SearchContext context_;
  std::vector<TpeGroup> groups_;     // in the space's order
  std::vector<TpeBranch> branches_;  // the first one has all trials
  std::map<int64_t, TpePoint> points_;
  std::map<TpePoint, std::set<int64_t>> tried_;  // numbers of the trials at a point
  // Of trials that can be neither good nor among the youngest any more nothing else is kept.
  std::vector<bool> dropped_;                      // by number
  std::unordered_set<uint64_t> tried_by_dropped_;  // hashes of their points
  size_t ended_since_drop_ = 0;
};

}  // namespace tessera
