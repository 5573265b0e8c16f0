#pragma once
#include <limits>
#include <optional>

#include "study/trial.h"

namespace tessera {

inline constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();

// What a trial does next.
struct Decision {
  enum class Kind {
    kGoOn,    // up to the report at step `until` or the first one after it; kToTheEnd: as far as its training goes
    kPause,   // it is stopped with a checkpoint (`tessera train --stop-at`) and its slot is free; promote() may name it later
    kStop,    // for good: its state becomes kStopped, with `reason`
    kFinish,  // this report was its last one, though its training would go on: its state becomes kComplete
    kCopy     // it takes the checkpoint that trial `from` had at this step, and these parameters, and goes on until `until`;
              // add_copy() (copies.h) notes it in the trial
  };
  Kind kind = Kind::kGoOn;
  int64_t until = kToTheEnd;
  int64_t from = -1;
  Assignment parameters = {};
  std::string reason = {};
};

// A paused trial that goes on (`tessera train --resume`, exact to the bit), up to the step. Where `from` is a trial, it first
// takes that one's checkpoint of its own last step, and these parameters, as with kCopy.
struct Promotion {
  int64_t trial = -1;
  int64_t until = kToTheEnd;
  int64_t from = -1;
  Assignment parameters = {};
  bool operator==(const Promotion&) const = default;
};

// Which trials are worth their time. Steps are those of reports, in whatever unit the study counts. Decisions are functions of
// the seed and of what was observed, so that a controller which is started again (and observes the trials of the store in order
// of their numbers) decides as the earlier one would have.
class Scheduler {
 public:
  virtual ~Scheduler() = default;

  // For a trial that is about to begin (it has no reports) and after each of its reports, the last of which is the new one.
  virtual Decision decide(const Trial& trial) = 0;

  // How a trial stands, with nothing to decide: when a controller begins with trials that are there, and when a trial is
  // paused, goes on or ends.
  virtual void observe(const Trial& trial) = 0;

  // Which paused trial should take a slot that is free, rather than a new one; nothing where there is none. It is named again
  // until observe() tells that it runs. Those that are paused when the study ends were not good enough: the controller makes
  // them kStopped.
  virtual std::optional<Promotion> promote() = 0;
};

}  // namespace tessera
