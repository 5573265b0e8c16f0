#include "train/precise_bn.h"

#include <torch/types.h>

#include "train/rank_norm_exchange.h"

namespace tessera {

PreciseBatchNorm::PreciseBatchNorm(const Experiment& experiment, SegmentationModel& model, const Loss& loss,
                                   const RankPlan& plan, at::Device device, World& world, StepTrace& trace)
    : plan_(plan),
      world_(world),
      exchange_(world.alone() ? nullptr : std::make_unique<RankNormExchange>(world.norms)),
      forward_(experiment, model, loss, device, exchange_.get(), &sums_, trace) {}

void PreciseBatchNorm::measure(const std::function<StepInputs()>& next, int64_t batches, int64_t micro_batch,
                               at::Tensor& buffers) {
  const at::NoGradGuard no_grad;
  sums_.begin(buffers);
  for (int64_t i = 0; i < batches; ++i) {
    const StepInputs inputs = next();
    for (const Pass& pass : plan_.own().passes(micro_batch))
      forward_.output(forward_.inputs(inputs, pass, LossContexts(inputs.labels)), pass, /*keeps_statistics=*/true);
  }
  sums_.finish(world_.gradients, buffers);
}

void PreciseBatchNorm::UnitSums::begin(const at::Tensor& buffers) {
  first_ = buffers.storage_offset();
  sums_ = at::zeros_like(buffers, at::kDouble);
  units_ = at::zeros_like(sums_);
}

void PreciseBatchNorm::UnitSums::add(const at::Tensor& running, const at::Tensor& value, int64_t /*unit*/,
                                     double /*momentum*/) {
  const at::NoGradGuard no_grad;
  const int64_t offset = running.storage_offset() - first_;
  sums_.narrow(0, offset, running.numel()).add_(value.to(at::kDouble));
  units_.narrow(0, offset, running.numel()).add_(1);
}

// Layers that do not train have added nothing and keep what they have.
void PreciseBatchNorm::UnitSums::finish(Communicator& ranks, at::Tensor& buffers) {
  ranks.sum(sums_);
  ranks.sum(units_);
  buffers.copy_(at::where(units_ > 0, sums_ / units_, buffers.to(at::kDouble)));
}

}  // namespace tessera
