#pragma once
#include <functional>

#include "dist/gradient_reducer.h"

namespace tessera {

// Times the exchange of all gradients for several bucket sizes on all ranks, also with bf16 on the wire if gradients may be
// rounded and `config` asks for no compression of its own, and sets the fastest. The slowest rank counts. `tried` hears of
// each. Returns the settings chosen. The gradients are lost. A collective.
DistConfig tune_exchange(GradientReducer& reducer, Communicator& communicator, const DistConfig& config, bool may_round,
                         const std::function<void(const DistConfig&, double milliseconds)>& tried);

}  // namespace tessera
