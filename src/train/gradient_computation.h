#pragma once
#include <functional>
#include <memory>
#include <optional>

#include "dist/gradient_reducer.h"
#include "dist/world.h"
#include "infer/precision.h"
#include "train/arena.h"
#include "train/forward_pass.h"
#include "train/pass_size.h"
#include "train/rank_plan.h"
#include "train/recorded_pass.h"
#include "train/running_stats.h"
#include "train/working_weights.h"

namespace tessera {

// What a gradient is for.
struct GradientUse {
  bool exchanges = true;    // else each rank keeps the gradient of its own slice
  bool begins_step = true;  // else it is another one of the same step, which batch norm's running averages leave out
};

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
  // Where it throws, see give_up.
  at::Tensor compute(const StepInputs& inputs, const GradientUse& use = {});

  // After `compute` failed, or before what it gave was reduced: the state is that from before it. Waits for no rank.
  void give_up();

  // From now on in smaller passes. False where what is left must stay together.
  bool shrink();

  // Completes the sum over the ranks, of gradients (where they are exchanged), of batch norm's running averages and of the
  // losses that `compute` gave, which it returns. A collective, in the same scope.
  at::Tensor reduce(const at::Tensor& loss);

  // Where the step's clip factor is not finite, the running averages are again those from before it. Waits for nothing.
  void keep_statistics(const at::Tensor& clip_factor);

  void begin_step() { saved_buffers_.reset(); }  // there is nothing to give up yet

  // The forward passes of a step by themselves, which leave everything as it is. around: called for each, calls `forward`. In
  // the same scope; a collective where units are spread.
  using AroundPass = std::function<void(const Pass&, const at::Tensor& pixels, const std::function<void()>& forward)>;
  void repeat_forward(const StepInputs& inputs, const AroundPass& around);

  GradientReducer* reducer() { return reducer_.get(); }  // null when alone
  int64_t micro_batch() const { return pass_size_.samples(); }
  RecordedPass& recorded() { return recorded_; }
  void run_each_pass(bool on) { runs_each_pass_ = on; }  // a recording hides its parts

 private:
  LossContexts with_prediction_sums(const StepInputs& inputs, std::optional<ModelOutput>* only_output);
  at::Tensor run_passes(const StepInputs& inputs, const LossContexts& contexts, std::optional<ModelOutput> first_output);
  at::Tensor run_only_pass(const StepInputs& inputs, const Pass& pass, const LossContexts& contexts);
  at::Tensor sum_over_ranks(const at::Tensor& loss);
  void backward(const at::Tensor& loss);
  void with_retries(int64_t step, const std::function<void()>& body);

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
  PassSize pass_size_;
  GradientUse use_;         // of the last compute
  bool first_pass_ = true;  // whose gradients replace, while those of the others are added
  bool runs_each_pass_ = false;
  at::Tensor saved_buffers_, step_buffers_;  // as they were before the last compute, and before the step
};

}  // namespace tessera
