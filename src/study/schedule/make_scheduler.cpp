#include "study/schedule/make_scheduler.h"

#include "core/error.h"
#include "study/schedule/asha.h"
#include "study/schedule/hyperband.h"
#include "study/schedule/median_stopping.h"
#include "study/schedule/population_training.h"
#include "study/typed_section.h"

namespace tessera {
namespace {

// Every trial trains to its end.
class NoScheduler final : public Scheduler {
 public:
  Decision decide(const Trial& trial) override {
    observe(trial);
    return {};
  }
  void observe(const Trial& trial) override {
    if (trial.state == TrialState::kPaused) {
      paused_.insert(trial.number);
    } else {
      paused_.erase(trial.number);
    }
  }
  std::optional<Promotion> promote() override {
    if (paused_.empty()) return std::nullopt;
    return Promotion{.trial = *paused_.begin()};
  }

 private:
  std::set<int64_t> paused_;
};

// Settings that leave `max` out mean the training's own end.
template <class Config>
Config with_max(Config config, const ScheduleContext& context) {
  if (config.max == 0) config.max = context.max_steps;
  TSR_CHECK_USAGE(config.max > 0, "scheduler {}: say at which step a training ends: 'max: 100'", Config::kName);
  return config;
}

class Maker {
 public:
  explicit Maker(const ScheduleContext& context) : context_(context) {}

  std::unique_ptr<Scheduler> operator()(const NoSchedulerConfig& /*config*/) const { return std::make_unique<NoScheduler>(); }
  std::unique_ptr<Scheduler> operator()(const AshaConfig& config) const {
    return std::make_unique<Asha>(with_max(config, context_), context_);
  }
  std::unique_ptr<Scheduler> operator()(const HyperbandConfig& config) const {
    return std::make_unique<Hyperband>(with_max(config, context_), context_);
  }
  std::unique_ptr<Scheduler> operator()(const MedianConfig& config) const {
    return std::make_unique<MedianStopping>(config, context_);
  }
  std::unique_ptr<Scheduler> operator()(const PopulationConfig& config) const {
    return std::make_unique<PopulationTraining>(config, context_);
  }

 private:
  const ScheduleContext& context_;
};

}  // namespace

SchedulerConfig read_scheduler(const Node& section) {
  return read_typed_section<SchedulerConfig>(section, "scheduler");
}

std::unique_ptr<Scheduler> make_scheduler(const SchedulerConfig& config, const ScheduleContext& context) {
  return std::visit(Maker(context), config);
}

}  // namespace tessera
