#pragma once
#include <memory>

#include "config/experiment.h"
#include "core/progress.h"
#include "dist/world.h"
#include "tensor/batch.h"
#include "train/freezing.h"
#include "train/gradient_computation.h"
#include "train/precise_bn.h"
#include "train/sam.h"
#include "train/weight_update.h"

namespace tessera {

// What a step reports. The tensors stay on the device: reading them waits for it, so only the logger does.
struct StepResult {
  at::Tensor loss;       // scalar: this rank's part of the loss of the global batch; the parts add up
  at::Tensor grad_norm;  // scalar, of the global gradient, before clipping
  double lr = 0;         // of parameters without a multiplier
};

struct StepOptions {
  bool sharded = false;                   // ZeRO-1
  std::vector<double> rank_weights = {};  // empty: equal
};

// One optimizer step over a global batch, of which this rank has its slice. The parts do the work: GradientComputation the
// passes (twice in a step, where SharpnessAware asks for it), WeightUpdate the rest.
class TrainStep {
 public:
  // `world` must outlive it. Alone, it is one rank that has the whole batch.
  TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device, World& world,
            const StepOptions& options = {});
  TrainStep(const Experiment& experiment, ModelPtr model, int num_classes,
            at::Device device);  // alone

  // batch: the samples of slice().positions.
  StepResult run(const Batch& batch, const Progress& at);

  // Measures batch norm's running statistics anew, for the weights that the model computes with and in the buffers that it has
  // them in: Note [Precise batch norm]. next: batches of whole, unmixed samples, of slice().positions. A collective.
  void measure_statistics(const std::function<Batch()>& next, int64_t batches, const Progress& at, at::Tensor& buffers);

  const RankSlice& slice() const { return plan_.own(); }
  Arena& arena() { return arena_; }
  ShardedOptimizer& optimizer() { return update_.optimizer(); }
  LossScaler& scaler() { return scaler_; }
  WeightAverage& average() { return update_.average(); }
  GradientReducer* reducer() { return gradients_.reducer(); }  // null when alone
  StepTrace& trace() { return trace_; }
  int64_t micro_batch() const { return gradients_.micro_batch(); }
  bool recorded() { return gradients_.recorded().recorded(); }  // the passes of the last step
  void stop_recording() { gradients_.recorded().stop(); }

 private:
  void begin(const Progress& at);
  StepInputs inputs_of(const Batch& batch, int64_t step, const std::optional<Shrink>& shrink = {}) const;
  std::optional<Shrink> shrink_of(const Batch& batch, const Progress& at) const;
  void sum_label_counts(StepInputs& inputs);

  Experiment experiment_;
  ModelPtr model_;
  int num_classes_;
  at::Device device_;
  World& world_;
  StepTrace trace_;
  std::unique_ptr<Loss> loss_;
  RankPlan plan_;
  Arena arena_;
  Freezing freezing_;
  WorkingWeights working_;
  LossScaler scaler_;
  GradientComputation gradients_;
  SharpnessAware sam_;
  WeightUpdate update_;
  PreciseBatchNorm precise_bn_;
};

}  // namespace tessera
