#pragma once
#include <map>
#include <set>
#include <utility>

#include "study/schedule/rung.h"
#include "study/schedule/schedule_context.h"
#include "study/schedule/scheduler.h"
#include "study/schedule/scheduler_config.h"

namespace tessera {

// Hyperband (Li et al. 2018): trials fill brackets in order of their numbers, again and again. Bracket s = s_max, ..., 0 has
// ceil((s_max + 1) * reduction^s / (s + 1)) trials, whose first rung is at max / reduction^s; of each rung's trials the best
// 1/reduction go on to the next, which is `reduction` times as far. Unlike with ASHA a rung waits for all its trials, so who
// goes on does not depend on who was faster. A trial that is certain to be among the best, or not to be, does not wait.
//
// Where the number of the study's trials is known, the last bracket has the trials that are left.
class Hyperband final : public Scheduler {
 public:
  Hyperband(const HyperbandConfig& config, const ScheduleContext& context);

  struct Shape {
    int64_t trials = 0;
    std::vector<int64_t> steps = {};  // of the rungs; the last one is `max`
    bool operator==(const Shape&) const = default;
  };
  static std::vector<Shape> shapes(const HyperbandConfig& config);

  Decision decide(const Trial& trial) override;
  void observe(const Trial& trial) override;
  std::optional<Promotion> promote() override;

 private:
  enum class Fate { kOpen, kGoesOn, kIsOut };
  struct Member {
    int64_t number = -1;
    TrialState state = TrialState::kWaiting;
    std::vector<std::optional<double>> scores = {};  // at each rung
    size_t reached = 0;                              // rungs with a score
  };
  struct Bracket {
    const Shape* shape = nullptr;
    std::vector<Member> members = {};
    std::vector<std::pair<int64_t, int64_t>> ready = {};  // as in ready_
  };

  Bracket& bracket_of(int64_t number);
  // Of each member, at the last rung it has a score at.
  std::vector<Fate> fates(const Bracket& bracket) const;
  void note_ready(Bracket& bracket);

  HyperbandConfig config_;
  ScheduleContext context_;
  std::vector<Shape> shapes_;
  int64_t cycle_ = 0;                            // trials of all shapes
  std::map<int64_t, Bracket> brackets_;          // by the number of their first trial
  std::set<std::pair<int64_t, int64_t>> ready_;  // paused trials that may go on: (-rungs that it has reached, number)
};

}  // namespace tessera
