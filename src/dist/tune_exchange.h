#pragma once
#include <functional>

#include "dist/gradient_reducer.h"

namespace tessera {

// Times the exchange of all gradients for several bucket sizes, with and without bf16 on the wire, on all ranks, and sets
// the fastest. The slowest rank counts. `tried` hears of each. Returns the settings chosen. The gradients are lost. A
// collective.
DistConfig tune_exchange(GradientReducer& reducer, Communicator& communicator, const DistConfig& config,
                         const std::function<void(const DistConfig&, double milliseconds)>& tried);

}  // namespace tessera
