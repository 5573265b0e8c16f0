#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "dist/gradient_reducer.h"
#include "dist/world.h"
#include "infer/precision.h"
#include "train/arena.h"
#include "train/forward_pass.h"
#include "train/rank_plan.h"
#include "train/recorded_pass.h"
#include "train/running_stats.h"
#include "train/working_weights.h"

namespace tessera {

// kNone: each rank keeps the gradient of its own slice.
enum class GradientExchange { kSum, kNone };

// The gradient of a global batch, of which this rank computes its slice: forward and backward in passes that fit into memory,
// then the sum over the ranks. The result depends neither on the passes nor on the ranks: see Note [Exact over micro-batches],
// Note [Batch-norm units], Note [Who computes what] and kernels/common/dropout_mask.h. When memory runs out, passes are done
// again, smaller ones.
class GradientComputation {
 public:
  // Everything given must outlive it.
  GradientComputation(const Experiment& experiment, SegmentationModel& model, const Loss& loss, const RankPlan& plan,
                      at::Device device, World& world, Arena& arena, WorkingWeights& working, LossScaler& scaler,
                      StepTrace& trace);

  // Leaves this rank's gradients in the arena; of buckets that are complete the sum over the ranks is under way. Returns the
  // slice's part of the loss of the global batch: a scalar, and the parts of all ranks add up. In a scope of working weights.
  at::Tensor compute(const StepInputs& inputs, GradientExchange exchange = GradientExchange::kSum);

  // Completes the sum over the ranks, of gradients (where they are exchanged) and of batch norm's running averages. A
  // collective, in the same scope.
  void reduce();

  GradientReducer* reducer() { return reducer_.get(); }  // null when alone
  int64_t micro_batch() const { return micro_batch_; }
  RecordedPass& recorded() { return recorded_; }

 private:
  LossContexts with_prediction_sums(const StepInputs& inputs, std::optional<ModelOutput>* only_output);
  at::Tensor run_passes(const StepInputs& inputs, const LossContexts& contexts, std::optional<ModelOutput> first_output);
  at::Tensor run_only_pass(const StepInputs& inputs, const Pass& pass, const LossContexts& contexts);
  void backward(const at::Tensor& loss);
  void with_retries(int64_t step, const std::function<void()>& body);
  bool shrink_micro_batch();

  World& world_;
  const Loss& loss_;
  const RankPlan& plan_;
  at::Device device_;
  Arena& arena_;
  WorkingWeights& working_;
  LossScaler& scaler_;
  StepTrace& trace_;
  std::unique_ptr<NormExchange> norm_exchange_;  // this and the next two: null when alone
  std::unique_ptr<RunningStats> running_stats_;
  std::unique_ptr<GradientReducer> reducer_;
  ForwardPass forward_;
  RecordedPass recorded_;
  int64_t micro_batch_;
  GradientExchange exchange_ = GradientExchange::kSum;  // of the last compute
  bool first_pass_ = true;                              // whose gradients replace, while those of the others are added
  at::Tensor saved_buffers_;
};

}  // namespace tessera
