#pragma once
#include <cstdint>
#include <set>
#include <vector>

#include "study/schedule/rung.h"
#include "study/schedule/schedule_context.h"
#include "study/schedule/scheduler.h"
#include "study/schedule/scheduler_config.h"

namespace tessera {

// Asynchronous successive halving (Li et al. 2020). Rungs are at grace * reduction^k up to `max`; those of bracket s leave out
// the first s. Which bracket a trial is in is drawn, with a weight of e for each rung. A trial's score at a rung is that of its
// first report there; a report that is beyond several rungs counts for the last of them.
//
// Rule `stop` is Ray Tune's: at a rung a trial ends whose score is below the (1 - 1/reduction) quantile of the others' so far.
// Rule `promote` is the paper's: at a rung every trial pauses, and goes on once it is among the best floor(n / reduction) of
// the n that have been there. It lets nobody go on too early, and nobody that turns out to be good is lost.
class Asha final : public Scheduler {
 public:
  // `config.max` must be known.
  Asha(const AshaConfig& config, const ScheduleContext& context);

  Decision decide(const Trial& trial) override;
  void observe(const Trial& trial) override;
  std::optional<Promotion> promote() override;

  // The rungs of a bracket, and the bracket of a trial.
  static std::vector<int64_t> rung_steps(const AshaConfig& config, int64_t bracket);
  size_t bracket_of(int64_t number) const;

 private:
  struct Ladder {
    std::vector<Rung> rungs;
    std::vector<std::set<Standing>> waiting = {};  // at each rung, paused
  };
  // Of a trial; there may be many thousands.
  struct Place {
    double score = 0;      // at the last rung it came to
    int32_t recorded = 0;  // rungs up to here have been looked at
    bool waits = false;    // it is paused at the last of them
  };

  Place& place_of(int64_t number);
  void record(const Trial& trial);
  void set_waiting(int64_t number, bool waits);
  int64_t next_step(const Ladder& ladder, size_t rung) const;  // after it
  int64_t quota(const Rung& rung) const;

  AshaConfig config_;
  ScheduleContext context_;
  std::vector<Ladder> ladders_;
  std::vector<Place> places_;  // by number
};

}  // namespace tessera
