#pragma once
#include <string>

#include "config/swa_config.h"
#include "core/progress.h"
#include "optim/average_step.h"
#include "optim/schedule.h"

namespace tessera {

// Note [SWA]
// Stochastic weight averaging (Izmailov et al., 2018): the plain mean of the weights as they were at the end of every
// `update_interval` after `start`, while the learning rate is held at `lr`. The n-th one gets the weight 1 / n, which makes it
// a moving average whose weight falls: what keeps, evaluates and saves that one (Note [Moving average]) serves both. The
// numbers are those of torch.optim.swa_utils: AveragedModel, also of the buffers (until Note [Precise batch norm] replaces
// them), and SWALR.

// Pure functions, so a resumed run needs no state. Updates are due where the number of steps done is a multiple of the
// interval, counted from the start.
AverageStep swa_at(const SwaConfig& config, const Progress& at);

// A warning for a user whose average no update ever reaches; else "".
std::string swa_warning(const SwaConfig& config, const Progress& run);

// The point of the schedule for the step that begins there: from `start` on, it moves from where the schedule stood then to
// swa.lr; `full_lr` is optimizer.lr, so that scaled rates and those of groups keep their ratio.
LrPoint swa_lr_point_at(const SwaConfig& config, double full_lr, const ScheduleConfig& schedule, const Progress& at);

}  // namespace tessera
