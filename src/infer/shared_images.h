#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <vector>

#include "data/sample.h"
#include "infer/window_team.h"

namespace tessera {

// Note [Images and ranks]
// Images (in evaluation: blocks of them, which share forward passes) are dealt out to the ranks in rounds, whole: that needs no
// exchange. In the last round there may be fewer than ranks, so that some would wait. Images of that round that have windows
// enough (Predictor::occupies) are computed by all ranks together. The rank that was dealt an image reads it, hands its pixels
// to the others, and has the result, as if it had been alone: see Note [Windows on several ranks].

// Whether `item`, of `count` that are dealt out one by one, is of a round that does not reach all ranks.
inline bool in_short_round(int64_t item, int64_t count, int ranks) {
  return item / ranks == count / ranks;
}

// Images of one size, as Predictor takes them.
struct ImageGroup {
  at::Tensor pixels;  // (N, H, W, C)
  float max_value = 0;
  std::vector<std::optional<Placement>> placements;  // none: the processed image is wanted

  std::vector<const Placement*> placement_pointers() const;
};

// Collective. Each rank has `count` groups of its own; group(i) makes one, and compute(i, group, team) is called on all ranks
// for each group of each. The leader of the team is the one whose group it is, and `i` is its number there.
void compute_together(Communicator& ranks, int64_t count, const std::function<ImageGroup(int64_t i)>& group,
                      const std::function<void(int64_t i, const ImageGroup&, const WindowTeam&)>& compute);

}  // namespace tessera
