#pragma once
#include <cstdint>
#include <vector>

#include "config/train_config.h"
#include "core/rng.h"
#include "tensor/batch.h"

namespace tessera {

// Note [Mixing partners]
// MixUp and CutMix mix a sample of the global batch with its neighbour: samples 2 i and 2 i + 1 are one another's partners (the
// last of an odd batch takes the one before it). The order of samples is shuffled anew each epoch, so neighbours are as random
// as any other pairing. How a sample is mixed is drawn from (seed, step, its position in the global batch).
//
// So nothing depends on ranks or micro-batches. But nothing guarantees that partners are on one rank either: a rank's stretch
// of the batch may begin or end between them, and without batch norm there is no unit that stays whole. A rank therefore loads
// the partners it lacks as well. Neighbours keep these few: at most one at each end of a stretch. Mixing reads all rows a rank
// has, so partners may be in different micro-batches.

struct MixOptions {
  MixConfig mixup, cutmix;
  bool any() const { return mixup.chance() + cutmix.chance() > 0; }
};

// The rows of a rank's batch.
struct MixPlan {
  std::vector<int64_t> positions;  // in the global batch: the rank's own, then partners that are not among them
  std::vector<SampleMix> mixes;    // of the own ones; empty when nothing is ever mixed
};

// positions: those of the rank's own samples in a global batch of batch_size.
MixPlan plan_mixes(const MixOptions& options, uint64_t seed, int64_t step, std::vector<int64_t> positions, int64_t batch_size);

// How one sample is mixed; `partner` is left at 0.
SampleMix draw_mix(const MixOptions& options, Rng rng);

}  // namespace tessera
