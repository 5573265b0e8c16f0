#pragma once
#include <cstddef>
#include <vector>

#include "study/trial.h"

namespace tessera {

// Several objectives at once. A point is a list of losses, one per objective: lower is better. It dominates another one that is
// nowhere better and somewhere worse.
using Losses = std::vector<double>;

// What a trial's values are as losses; a value that is no number is the worst.
Losses losses_of(const std::vector<double>& values, const std::vector<Direction>& directions);

// 0 for points that nobody dominates, 1 for those that only points of rank 0 dominate, and so on. Equal points have equal
// ranks.
std::vector<size_t> domination_ranks(const std::vector<Losses>& points);

// The trials that are complete and that no other one dominates, in their order; with one objective the best one, or several
// that are equal. Trials without a number in every objective are not among them.
std::vector<size_t> pareto_front(const std::vector<Trial>& trials, const std::vector<Direction>& directions);

// The volume that the points dominate, up to a reference point that is nowhere better than any of them.
double hypervolume(const std::vector<Losses>& points, const Losses& reference);

// `count` of the points, chosen one after another so that each adds the most to the hypervolume (Guerreiro et al. 2016): their
// indices, ascending. Copies of a point come after all others.
std::vector<size_t> largest_hypervolume(const std::vector<Losses>& points, size_t count, const Losses& reference);

}  // namespace tessera
