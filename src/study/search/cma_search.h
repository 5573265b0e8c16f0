#pragma once
#include <deque>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "study/search/cma_distribution.h"
#include "study/search/search_config.h"
#include "study/search/search_context.h"
#include "study/search/searcher.h"
#include "study/search/trial_order.h"

namespace tessera {

// Note [Generations]
// CMA-ES over numbers, each mapped to 0..1 by its own distribution (logarithm, steps, normal). Trials p*g .. p*g+p-1 are
// generation g of p trials, and the distribution learns from it once all of them have ended. A trial whose generation's
// distribution is not there yet, as when several run at once, is drawn from the newest one there is; what the distribution
// learns of it then is a point brought near enough for it (brought_near). So a suggestion is a function of the trials, whoever
// was faster.
//
// Stopped trials rank behind complete ones, failed ones last. When the distribution has become a point it starts anew around a
// random place with twice the population (Auger and Hansen 2005). Trials of an earlier study, if they are ten or more, give the
// first distribution: Nomura et al. 2021.
class CmaSearch final : public Searcher {
 public:
  // Throws UsageError for choices, conditions and several objectives.
  CmaSearch(const CmaSearchConfig& config, const SearchContext& context);

  std::optional<Assignment> suggest(int64_t number) override;
  void observe(const Trial& trial) override;

 private:
  struct Known {
    std::vector<double> point;  // in the cube; empty where it lacks a value
    Outcome outcome;
    bool is_final;  // nothing else will be told of it
  };
  struct Generation {
    int64_t first;  // number of its first trial
    CmaDistribution distribution;
  };

  CmaDistribution first_distribution() const;
  Rng rng_of(int64_t number) const;
  void learn_what_ended();
  void forget_what_is_learned();

  CmaSearchConfig config_;
  SearchContext context_;
  std::vector<Parameter> varied_;
  std::map<int64_t, Known> known_;
  std::deque<Generation> generations_;  // empty: to be made; the first ones go when nothing that they gave can change
};

// The normal distribution that the best tenth of some points gives, with 0.1 around each: what a new search begins with.
// points: the best first, at least one.
CmaDistribution warm_start(const std::vector<std::vector<double>>& ranked, size_t population);

}  // namespace tessera
