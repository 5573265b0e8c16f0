#pragma once
#include <string>
#include <vector>

#include "data/batch/quarantine.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/eval_result.h"
#include "infer/pictures.h"
#include "train/hooks/run_events.h"

namespace tessera {

// Note [Order of events]
// This is the whole life of a run; everything a hook can see happens at one of these places, in this order.
//
//   on_start                          once: model built, checkpoint loaded if resuming
//   until the run is complete:        all steps done (those before stop_at, or fewer with early stopping), saved and evaluated
//     if a stop is asked for:         save, leave. A stop signal or a hook's wants_stop, of any rank
//     if a checkpoint is due:         save (in the background); on_checkpoint
//     if an evaluation is due:        evaluate; on_eval; add the result to the checkpoint, or save the step if it is the best
//                                     so far. A stop signal cuts it short; resuming does it again
//     else if steps are left:         next batch, forward, backward, optimizer step
//       on_bad_sample                 for each sample quarantined since the last time
//       on_guard                      for a step whose numbers were not finite, maybe one step late, or whose loss stands out
//       if a log line is due:         on_log
//       else:                         on_step
//   on_end                            once, also after an error or a stop
//   on_pictures                       once, where a run that is complete draws predictions
//
// Hooks watch a run and may ask it to stop; they do not change it otherwise. They are called one after another in the order
// they were added, on the thread of the rank they were given to.
class Hook {
 public:
  virtual ~Hook() = default;
  virtual void on_start(const RunInfo&) {}
  virtual void on_step(int64_t /*step*/) {}
  virtual void on_log(const LogLine&) {}
  virtual void on_bad_sample(const BadSampleRecord&) {}
  virtual void on_warning(int64_t /*step*/, const std::string& /*text*/) {}
  virtual void on_guard(const GuardEvent&) {}
  virtual void on_eval(const TrainState&, double /*epoch*/, const EvalResult&) {}
  virtual void on_checkpoint(const TrainState&) {}
  virtual void on_end(const TrainState&, const std::string& /*status*/) {}
  virtual void on_pictures(const TrainState&, const std::vector<DrawnPrediction>& /*best*/,
                           const std::vector<DrawnPrediction>& /*worst*/) {}

  // Asked before the first step and after each step and each evaluation, so it must be cheap. Not empty: all ranks save the run
  // and leave it as "stopped by <this>"; resumed, it goes on to the bits of a run that was never stopped.
  virtual std::string wants_stop() const { return {}; }
};

}  // namespace tessera
