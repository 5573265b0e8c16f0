#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "data/batch/quarantine.h"
#include "infer/checkpoint/checkpoint.h"
#include "infer/eval_result.h"

namespace tessera {

// Note [Order of events]
// This is the whole life of a run; everything a hook can see happens at one of these places, in this order.
//
//   on_start                          once: model built, checkpoint loaded if resuming
//   while true:
//     if a stop signal came:          save, leave
//     if a checkpoint is due:         save (in the background); on_checkpoint
//     if an evaluation is due:        evaluate; on_eval; add the result to the checkpoint, or save the step if it is the best
//                                     so far. A stop signal cuts it short; resuming does it again
//     if the run is finished:         leave
//     next batch, forward, backward, optimizer step
//     on_bad_sample                   for each sample quarantined since the last time
//     if a log line is due:           on_log
//     else:                           on_step
//   on_end                            once, also after an error or a signal
//
// Hooks watch; they do not change the run. They are called one after another in the order they were added.

struct RunInfo {
  const Experiment& experiment;
  std::filesystem::path folder;
  int64_t first_step = 0;  // > 0 when resumed
  bool resumed = false;
  int64_t total_steps = 0;
  int64_t steps_per_epoch = 0;
  int64_t num_parameters = 0;
  int64_t num_train = 0, num_val = 0;
  std::string device;
  ClassTable classes;
};

struct LogLine {
  int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  double lr = 0;
  double grad_norm = 0;
  double images_per_s = 0;
  double data_wait = 0;  // share of the time, 0..1
  double memory_mb = 0;
  int64_t skipped_steps = 0;  // fp16: of the run so far, whose gradients overflowed
};

class Hook {
 public:
  virtual ~Hook() = default;
  virtual void on_start(const RunInfo&) {}
  virtual void on_step(int64_t /*step*/) {}
  virtual void on_log(const LogLine&) {}
  virtual void on_bad_sample(const BadSampleRecord&) {}
  virtual void on_warning(int64_t /*step*/, const std::string& /*text*/) {}
  virtual void on_eval(const TrainState&, double /*epoch*/, const EvalResult&) {}
  virtual void on_checkpoint(const TrainState&) {}
  virtual void on_end(const TrainState&, const std::string& /*status*/) {}
};

using Hooks = std::vector<std::unique_ptr<Hook>>;

}  // namespace tessera
