#pragma once
#include <cstdint>
#include <vector>

#include "tensor/step_context.h"

namespace tessera {

// Note [Who computes what]
// A global batch is cut into units of `unit` samples, which share batch-norm statistics. The units are dealt out in rounds;
// in a round each rank gets a stretch of consecutive samples, as long as its weight says. Where the end of a stretch is not
// the end of a unit, that unit is *spread*: its ranks must run it at the same time and add up their statistics. So a round
// begins with one pass over the parts of spread units, in which all ranks take part, and goes on with the whole units of
// each rank, which need nobody else and may be cut into as many passes as memory wants. With as many units as ranks, or a
// multiple, nothing is spread.
//
// One round keeps ranks busiest. More rounds make the pass over spread units smaller: in the extreme a round is one unit,
// spread over all ranks. A rank that gets no sample in a round takes part with a sample that counts nowhere.
//
// None of this changes what is computed: which samples form a unit is fixed by their position in the global batch.

// Samples [begin, end) of a rank's own batch that go through the model together.
struct Pass {
  int64_t begin = 0, end = 0;
  std::vector<NormSegment> segments;  // of the samples of this pass
  int64_t rows = 0;                   // spread units that all ranks exchange in this pass
};

struct Round {
  int64_t begin = 0;                // of the rank's own batch
  std::vector<NormSegment> synced;  // parts of spread units; offsets from `begin`
  std::vector<NormSegment> whole;   // the rank's own units, after them
  int64_t rows = 0;                 // spread units of all ranks
};

// What one rank does with a global batch.
struct RankSlice {
  std::vector<int64_t> positions;  // in the global batch, in the order of the rank's own batch
  std::vector<Round> rounds;
  std::vector<int64_t> stand_ins;  // samples of the rank's own batch that count nowhere
  int64_t units = 0;               // of the global batch

  // The passes in order, with at most `micro_batch` samples each where that leaves units whole (0: as few passes as can
  // be).
  std::vector<Pass> passes(int64_t micro_batch) const;
};

struct BatchPlanOptions {
  int64_t batch = 0;            // samples of the global batch
  int64_t unit = 1;             // samples that share statistics; 1 for a model without batch norm
  int64_t micro_batch = 0;      // at most, per rank and pass; 0: no limit
  std::vector<double> weights;  // one per rank
};

// Deals out a global batch. Throws UsageError when no plan keeps within micro_batch.
RankSlice plan_slice(const BatchPlanOptions& options, int rank);

// The same where statistics are shared by the samples of `group` consecutive ranks (those of a host, or one), whatever
// their number: not independent of the hardware, but what some published results were made with. One round, one pass.
RankSlice plan_slice_by_group(const BatchPlanOptions& options, int group, int rank);

}  // namespace tessera
