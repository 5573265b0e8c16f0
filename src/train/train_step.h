#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "config/experiment.h"
#include "dist/batch_plan.h"
#include "dist/gradient_reducer.h"
#include "dist/world.h"
#include "infer/precision.h"
#include "loss/loss.h"
#include "nn/model.h"
#include "optim/clip.h"
#include "tensor/batch.h"
#include "train/arena.h"
#include "train/recorded_pass.h"
#include "train/running_stats.h"
#include "train/sharded_optimizer.h"
#include "train/step_inputs.h"
#include "train/step_trace.h"
#include "train/weight_average.h"
#include "train/working_weights.h"

namespace tessera {

// What a step reports. The tensors stay on the device: reading them waits for it, so only the logger does.
struct StepResult {
  at::Tensor loss;       // scalar: this rank's share of the loss of the global batch; the shares add up
  at::Tensor grad_norm;  // scalar, of the global gradient, before clipping
  double lr = 0;         // of parameters without a multiplier
};

struct StepOptions {
  bool sharded = false;                   // ZeRO-1
  std::vector<double> rank_weights = {};  // empty: equal
};

// One optimizer step over a global batch, of which this rank has its share: forward and backward in passes, exchange of
// gradients, clip, update. The result depends neither on the passes nor on the ranks: see Note [Exact over micro-batches],
// Note [Batch-norm units], Note [Who computes what] and kernels/common/dropout_mask.h. When memory runs out the step is undone
// and tried again in smaller passes.
class TrainStep {
 public:
  // `world` must outlive it. Alone, it is one rank that has the whole batch.
  TrainStep(const Experiment& experiment, ModelPtr model, int num_classes, at::Device device, World& world,
            const StepOptions& options = {});
  TrainStep(const Experiment& experiment, ModelPtr model, int num_classes,
            at::Device device);  // alone

  // batch: the samples of share().positions.
  StepResult run(const Batch& batch, int64_t step, int64_t total_steps, int64_t steps_per_epoch);

  const RankShare& share() const { return share_; }
  Arena& arena() { return arena_; }
  ShardedOptimizer& optimizer() { return optimizer_; }
  LossScaler& scaler() { return scaler_; }
  WeightAverage& average() { return average_; }
  GradientReducer* reducer() { return reducer_.get(); }  // null when alone
  StepTrace& trace() { return trace_; }
  int64_t micro_batch() const { return micro_batch_; }
  bool recorded() const { return recorded_.recorded(); }  // the passes of the last step
  void stop_recording() { recorded_.stop(); }

 private:
  RankShare share_of(int rank) const;
  void update(const GradientNorm& gradient, const LrPoint& lr, std::optional<double> momentum, double average_weight);
  at::Tensor forward_backward(const Batch& batch, int64_t step);
  void add_prediction_sums(StepInputs& inputs);
  at::Tensor run_passes(StepInputs& inputs);
  at::Tensor forward_loss(StepInputs& inputs, const Pass& pass);
  ModelOutput forward(const StepInputs& inputs, const Pass& pass, bool counts_statistics);
  at::Tensor pixels_of(const StepInputs& inputs, const Pass& pass) const;
  void backward(const at::Tensor& loss);
  void with_retries(int64_t step, const std::function<void()>& body);
  bool shrink_micro_batch();
  bool one_pass_everywhere() const;

  Experiment experiment_;
  ModelPtr model_;
  int num_classes_;
  at::Device device_;
  World& world_;
  Arena arena_;
  WorkingWeights working_;
  std::unique_ptr<Loss> loss_;
  LrRange lr_;
  ShardedOptimizer optimizer_;
  WeightAverage average_;
  LossScaler scaler_;
  int64_t unit_;  // samples that share batch-norm statistics; 1 without batch norm
  std::vector<double> rank_weights_;
  RankShare share_;
  bool synced_ = false;  // units are spread over ranks
  int64_t micro_batch_;
  RecordedPass recorded_;
  bool first_pass_ = true;  // whose gradients replace, the others' are added
  std::unique_ptr<NormExchange> norm_exchange_;
  std::unique_ptr<RunningStats> running_stats_;
  std::unique_ptr<GradientReducer> reducer_;
  StepTrace trace_;
  at::Tensor saved_buffers_;
};

}  // namespace tessera
