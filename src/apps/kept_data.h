#pragma once
#include <optional>

#include "train/run_data.h"

namespace tessera {

// From now on the data sets of a run stay open for the next one of this process.
void keep_run_data();

// Those of the run before where they are this one's too, else opened now. Nothing unless they are kept: the run opens its own.
std::optional<RunData> kept_run_data(const Experiment& experiment);

}  // namespace tessera
