#pragma once
#include <map>
#include <vector>

#include "study/schedule/schedule_context.h"
#include "study/schedule/scheduler.h"
#include "study/schedule/scheduler_config.h"

namespace tessera {

// A trial ends when its best report so far is worse than the median of what the other trials, those that have come as far,
// reported on average up to this step (the rule of Golovin et al. 2017, as Ray Tune has it).
class MedianStopping final : public Scheduler {
 public:
  MedianStopping(const MedianConfig& config, const ScheduleContext& context) : config_(config), context_(context) {}

  Decision decide(const Trial& trial) override;
  void observe(const Trial& trial) override;
  std::optional<Promotion> promote() override;

 private:
  struct Sums {
    std::vector<int64_t> steps = {};
    std::vector<double> sums = {};  // of the scores up to each step, from `grace` on
    int64_t before_grace = 0;       // reports that do not count
    bool paused = false;
  };
  std::vector<double> averages_up_to(int64_t step, int64_t without) const;

  MedianConfig config_;
  ScheduleContext context_;
  std::map<int64_t, Sums> trials_;
};

}  // namespace tessera
