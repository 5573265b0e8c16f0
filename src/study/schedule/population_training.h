#pragma once
#include <map>
#include <optional>
#include <vector>

#include "study/schedule/schedule_context.h"
#include "study/schedule/scheduler.h"
#include "study/schedule/scheduler_config.h"

namespace tessera {

// Population-based training (Jaderberg et al. 2017) with the rules of Ray Tune: every `interval` steps a trial that is in the
// lowest quantile takes the weights of one drawn from the highest quantile, and that one's parameters, explored (explore.h).
//
// Trials are compared at the same step. With `synch` a judgement waits for all trials of the population that still live;
// without it a trial is compared with those that have come as far. Where the population is larger than the slots, trials pause
// at each judgement so that all advance alike. Populations follow one another in order of the trials' numbers.
class PopulationTraining final : public Scheduler {
 public:
  PopulationTraining(const PopulationConfig& config, const ScheduleContext& context);

  Decision decide(const Trial& trial) override;
  void observe(const Trial& trial) override;
  std::optional<Promotion> promote() override;

 private:
  struct Member {
    TrialState state = TrialState::kWaiting;
    std::vector<double> scores = {};                // at each judgement
    std::map<int64_t, Assignment> parameters = {};  // from the judgement on that it took them at; 0: those it began with
  };
  using Population = std::map<int64_t, Member>;

  // Whose weights, with which parameters. Nothing: it goes on with its own.
  struct Exploit {
    int64_t from = -1;
    Assignment parameters = {};
  };
  std::optional<Exploit> exploit(const Population& population, int64_t number, size_t judgement) const;

  int64_t size_of(int64_t index) const;  // of a population
  bool all_began(int64_t index) const;
  bool all_reached(int64_t index, size_t judgement) const;
  int64_t step_after(size_t judgement) const;

  PopulationConfig config_;
  ScheduleContext context_;
  std::map<int64_t, Population> populations_;
};

// Places in `scores` (more is better) of the lowest and the highest quantile, as Ray Tune chooses them: ceil(n * quantile)
// each, at most half; none of fewer than two.
struct Quantiles {
  std::vector<size_t> lowest, highest;
};
Quantiles quantiles(const std::vector<double>& scores, double quantile);

}  // namespace tessera
