#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "dist/communicator.h"

namespace tessera {

// Adasum (Maleki et al., 2020): combines the gradients of pairs of ranks, then of pairs of pairs. Of two gradients a and b
// of a layer,
//
//   (1 - a.b / 2|a|^2) a + (1 - a.b / 2|b|^2) b
//
// is their sum where they are orthogonal and their mean where they agree. `gradients` (flat) is replaced on all ranks;
// `layers` are its (offset, numel) pieces that are weighed separately. The number of ranks must be a power of two. The
// result depends on it by design.
void adasum(Communicator& communicator, at::Tensor gradients, const std::vector<std::pair<int64_t, int64_t>>& layers);

}  // namespace tessera
