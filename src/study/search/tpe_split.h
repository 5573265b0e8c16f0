#pragma once
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <vector>

#include "study/search/best_of_fronts.h"
#include "study/search/trial_order.h"

namespace tessera {

// Parts trials into those that TPE calls good and the rest. Good are a tenth of those that ended, at most 25 where there is one
// objective. With several objectives they are those of the first ranks of domination, and of the rank that does not fit those
// that add the most hypervolume (Ozaki et al. 2022). Failed and pending trials are never good.
//
// Trials are kept in their order, so that parting them costs the same after any number of them; those that can be good no more
// may be dropped.
class TpeSplit {
 public:
  static constexpr size_t kMostGood = 25;  // of one objective

  explicit TpeSplit(size_t num_objectives) : num_objectives_(num_objectives) {}
  TpeSplit(const TpeSplit&) = delete;  // a copy's places would be those of the original
  TpeSplit& operator=(const TpeSplit&) = delete;
  TpeSplit(TpeSplit&&) = default;
  TpeSplit& operator=(TpeSplit&&) = default;

  void tell(int64_t number, const Outcome& outcome);  // what was told of the number before is replaced
  void forget(int64_t number);
  // The trial counts as one that ended, and is not kept. Whoever is not among note_needed() may be dropped.
  void drop(int64_t number);
  // Adds who may still be good, or weighs the good ones, where outcomes of `is_final` trials change no more.
  void note_needed(const std::function<bool(int64_t)>& is_final, std::set<int64_t>& needed) const;

  struct Good {
    std::vector<int64_t> numbers;  // ascending
    // Each weighs as much as it is better than the best of the rest (their mean 1); where that cannot be said, all are equal.
    std::vector<double> weights;
  };
  // Of all trials but this one.
  Good good_without(int64_t number);
  int64_t ended_without(int64_t number) const;  // complete or stopped

 private:
  struct Place {
    Outcome::Kind kind;
    int64_t step;
    double loss;
    int64_t number;
    bool operator<(const Place& other) const;
  };

  size_t num_objectives_;
  int64_t dropped_ = 0;
  std::set<Place> order_;  // complete trials, then stopped ones; of several objectives only these
  std::map<int64_t, std::set<Place>::iterator> places_;
  BestOfFronts fronts_;  // complete trials with several objectives
};

}  // namespace tessera
