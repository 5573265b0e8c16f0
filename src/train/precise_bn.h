#pragma once
#include <functional>
#include <memory>

#include "dist/world.h"
#include "train/forward_pass.h"
#include "train/rank_plan.h"

namespace tessera {

// Note [Precise batch norm]
// Batch norm's running averages describe weights of many steps, the newest most, and an average of weights (Note [Moving
// average], Note [SWA]) is none of those that they were measured with. train.precise_bn measures them anew for the weights that
// are about to be evaluated: forward passes over some training batches, and the mean over their batch-norm units of each
// channel's mean and (unbiased) variance, as torch.optim.swa_utils.update_bn has it.
//
// Units, passes and ranks are those of a training step, so that the result depends on none of passes and ranks. Batches are
// those that training would take next, whole and unmixed: a function of seed and step, so that a resumed run measures the same.
// It happens before a step is saved; a checkpoint holds what was evaluated.
class PreciseBatchNorm {
 public:
  // Everything given must outlive it.
  PreciseBatchNorm(const Experiment& experiment, SegmentationModel& model, const Loss& loss, const RankPlan& plan,
                   at::Device device, World& world, StepTrace& trace);

  // Replaces the running statistics, which lie in `buffers`, of the layers that train; for that the model must be in training
  // mode. next: the inputs of the batches, one after another. A collective.
  void measure(const std::function<StepInputs()>& next, int64_t batches, int64_t micro_batch, at::Tensor& buffers);

 private:
  // Sums over units, laid out as the buffers are.
  class UnitSums : public NormStatistics {
   public:
    void begin(const at::Tensor& buffers);
    void add(const at::Tensor& running, const at::Tensor& value, int64_t unit, double momentum) override;
    void finish(Communicator& ranks, at::Tensor& buffers);

   private:
    int64_t first_ = 0;        // element of the buffers in their storage
    at::Tensor sums_, units_;  // float64; how many there were
  };

  const RankPlan& plan_;
  World& world_;
  std::unique_ptr<NormExchange> exchange_;  // null when alone
  UnitSums sums_;
  ForwardPass forward_;
};

}  // namespace tessera
