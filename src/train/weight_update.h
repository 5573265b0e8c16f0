#pragma once
#include "config/experiment.h"
#include "core/progress.h"
#include "infer/precision.h"
#include "kernels/update/gradient_norm.h"
#include "optim/average_step.h"
#include "optim/schedule.h"
#include "train/sharded_optimizer.h"
#include "train/step_trace.h"
#include "train/weight_average.h"
#include "train/working_weights.h"

namespace tessera {

// What a gradient does to the weights: learning rate and momentum by the schedule, the optimizer, the average of the weights
// and the half-precision copies, all in one pass over memory.
class WeightUpdate {
 public:
  // Everything given must outlive it. sharded: ZeRO-1.
  WeightUpdate(const Experiment& experiment, SegmentationModel& model, Communicator& ranks, Arena& arena,
               WorkingWeights& working, LossScaler& scaler, StepTrace& trace, bool sharded);

  // Before the forward pass, which changes batch norm's running averages: the average begins as a copy of what is there.
  void begin(const Progress& at);

  // A collective when sharded. Returns the learning rate of parameters without a multiplier.
  double step(const GradientNorm& gradient, const Progress& at);

  ShardedOptimizer& optimizer() { return optimizer_; }
  WeightAverage& average() { return average_; }

 private:
  AverageStep average_at(const Progress& at) const;

  const Experiment& experiment_;
  Arena& arena_;
  WorkingWeights& working_;
  LossScaler& scaler_;
  StepTrace& trace_;
  LrRange lr_;
  ShardedOptimizer optimizer_;
  WeightAverage average_;
};

}  // namespace tessera
