#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/experiment.h"
#include "core/progress.h"
#include "dist/world.h"
#include "tensor/batch.h"
#include "train/freezing.h"
#include "train/gradient_computation.h"
#include "train/nonfinite_search.h"
#include "train/precise_bn.h"
#include "train/sam.h"
#include "train/weight_update.h"

namespace tessera {

// What a step reports. The tensors stay on the device: reading them waits for it, so only the logger does.
struct StepResult {
  at::Tensor loss;       // scalar: of the global batch
  at::Tensor grad_norm;  // scalar, of the global gradient, before clipping
  double lr = 0;         // of parameters without a multiplier
};

struct StepOptions {
  bool sharded = false;                   // ZeRO-1
  std::vector<double> rank_weights = {};  // empty: equal
};

// Note [Out of memory]
// A step has two parts. In the first each rank computes its gradients; nothing that lasts is changed but batch norm's running
// averages, of which there is a copy. Where memory runs out in it, on any rank and at any place, all of it is done again in
// less memory: by the rank itself where the others are not in it (smaller passes), else by all ranks, which meet again for that
// (Note [Meeting again]): in smaller passes, then with activation checkpointing of all segments. What is computed is the same.
// That the first part is done is agreed upon, so no rank begins the second while another may still have to go back.
//   In the second, gradients are summed and the weights move. It needs little memory, takes it before it changes anything, and
// where there is none takes it again without what libtorch keeps for later.

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

  // Computes a step that changed nothing once more, to see where its numbers are not finite; it still changes nothing. A
  // collective, and slow.
  NonFiniteCause find_nonfinite(const Batch& batch, const Progress& at);

  // In fp32 from now on, or again in the experiment's own precision; fp64 stays.
  void compute_in_fp32(bool on);
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
  void run_each_pass(bool on) { gradients_.run_each_pass(on); }
  void stop_recording() { gradients_.recorded().stop(); }

 private:
  void begin(const Progress& at);
  at::Tensor loss_and_gradients(const Batch& batch, const Progress& at, std::optional<StepInputs>& inputs,
                                const GradientUse& use);
  GradientNorm clip();
  void use_less_memory(int64_t step);  // in a handler of what the first part threw
  StepInputs inputs_of(const Batch& batch, const Progress& at);
  StepInputs inputs_without_counts(const Batch& batch, int64_t step, const std::optional<Shrink>& shrink) const;
  std::optional<Shrink> shrink_of(const Batch& batch, const Progress& at) const;
  void sum_label_counts(StepInputs& inputs);

  Experiment experiment_;
  Precision precision_;  // of the experiment, while experiment_ has the one that is computed in
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
  int64_t freed_in_step_ = -1;  // the last one that was tried again with the memory that libtorch kept
  PreciseBatchNorm precise_bn_;
};

}  // namespace tessera
