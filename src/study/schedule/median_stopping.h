#pragma once
#include <map>
#include <optional>
#include <set>
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

    std::optional<double> average_up_to(int64_t step) const;  // where it has come as far, and is a number
  };
  void add_reports(const Trial& trial);
  const std::vector<double>& averages_up_to(int64_t step);

  MedianConfig config_;
  ScheduleContext context_;
  std::map<int64_t, Sums> trials_;
  std::map<int64_t, std::vector<double>> averages_;  // ascending, by the step; a step that was asked for is kept up to date
  std::set<int64_t> paused_;
};

}  // namespace tessera
