#pragma once
#include <cstdint>
#include <string>

#include "config/ema_config.h"
#include "core/progress.h"
#include "optim/average_step.h"

namespace tessera {

// A pure function, so a resumed run needs no state. Updates are due where the number of steps done is a multiple of the
// interval, as in Composer.
AverageStep ema_at(const EmaConfig& config, const Progress& at);

// The weight that the parameters it began with have in the average by then; 0 before it begins.
double ema_beginning_left(const EmaConfig& config, const Progress& at);

// A warning for a user of whose average, by its schedule, more than a tenth is still what it began with at the end of the run;
// else "". first_evaluation: after this many steps; 0: only at the end.
std::string ema_warning(const EmaConfig& config, int64_t first_evaluation, const Progress& run);

}  // namespace tessera
