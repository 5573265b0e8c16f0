#pragma once
#include <string>
#include <vector>

#include "data/batch/quarantine.h"
#include "dist/world.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/eval_result.h"

namespace tessera {

// What the ranks of a world must decide or know together. Every function is a collective: all ranks call it at the same
// place. Alone they return what they are given.

// The largest number that any rank gives: the strongest stop signal, or 1 where something is true on one of them.
int max_over_ranks(World& world, int own);

// Rank 0's state, on all ranks.
TrainState state_of_first(World& world, const TrainState& state);

// The records of all ranks, in order of ranks.
std::vector<BadSampleRecord> all_bad_samples(World& world, const std::vector<BadSampleRecord>& own);

// An evaluation whose images were dealt out over the ranks, put together; the same on all ranks.
EvalResult merged(World& world, EvalResult part, int num_classes);

}  // namespace tessera
