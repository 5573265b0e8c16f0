#pragma once
#include <cstdint>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "study/search/tpe_split.h"

namespace tessera {

// A value per parameter of the space; kUnused where it is not in use.
using TpePoint = std::vector<double>;
inline constexpr double kUnused = std::numeric_limits<double>::infinity();  // no parameter has this value

// Trials by their numbers, ascending.
using TpeTrials = std::vector<std::pair<int64_t, const TpePoint*>>;

// The trials in which the parameters of one condition are in use, parted by themselves: each model, say, learns from its own
// best trials, though all of them may be worse than those of another model.
class TpeBranch {
 public:
  explicit TpeBranch(size_t num_objectives) : split_(num_objectives) {}

  // The point must stay where it is until it is forgotten or dropped. Of a final trial nothing else will be told.
  void tell(int64_t number, const TpePoint& point, const Outcome& outcome, bool is_final);
  void forget(int64_t number);
  // As TpeSplit: of one objective.
  void drop(int64_t number);
  void note_needed(std::set<int64_t>& needed) const;

  int64_t ended_without(int64_t number) const { return split_.ended_without(number); }

  struct Parts {
    TpeTrials good = {}, rest = {};
    std::vector<double> weights = {};  // of the good ones
  };
  // Of all trials but this one, and without those that are pending unless they count.
  Parts parts_without(int64_t number, bool pending_count);

 private:
  struct Known {
    const TpePoint* point;
    bool is_pending, is_final;
  };
  TpeSplit split_;
  std::map<int64_t, Known> known_;
};

}  // namespace tessera
