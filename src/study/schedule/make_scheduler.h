#pragma once
#include <memory>

#include "config/node.h"
#include "study/schedule/schedule_context.h"
#include "study/schedule/scheduler.h"
#include "study/schedule/scheduler_config.h"

namespace tessera {

// The `scheduler:` section of a study's file: a name, none, asha, hyperband, median or pbt, or {type: NAME} with its settings
// (scheduler_config.h). Throws UsageError with file and line.
SchedulerConfig read_scheduler(const Node& section);

// Throws UsageError where settings and study do not go together.
std::unique_ptr<Scheduler> make_scheduler(const SchedulerConfig& config, const ScheduleContext& context);

}  // namespace tessera
