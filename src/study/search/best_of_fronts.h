#pragma once
#include <cstddef>
#include <map>
#include <vector>

#include "study/pareto.h"

namespace tessera {

// The best of trials with several objectives: those of the first ranks of domination, and of the rank that does not fit those
// that add the most hypervolume.
//
// Note [Candidates]
// Of thousands of trials only the first ranks are looked at. A point that is told of later can only push others to higher
// ranks, so whoever has enough others before it now will not be among the best before somebody is forgotten.
class BestOfFronts {
 public:
  static constexpr size_t kMost = 250;  // that can be asked for

  void tell(int64_t number, const Losses& losses);
  void forget(int64_t number);
  size_t size() const { return all_.size(); }
  bool contains(int64_t number) const { return all_.contains(number); }

  // As many as there are, at most `count`, but not this one: their numbers.
  std::vector<int64_t> best(size_t count, int64_t without);

 private:
  void look_at_all();
  void leave_out_behind(const std::vector<std::vector<size_t>>& fronts);  // of the candidates

  std::map<int64_t, Losses> all_;
  std::vector<int64_t> candidates_;   // ascending
  bool is_whole_ = true;              // whether nobody was left out of the candidates
  size_t whole_ranks_ = 0;            // otherwise: ranks of which nobody is missing
  size_t look_again_at_ = 4 * kMost;  // so many candidates
};

}  // namespace tessera
