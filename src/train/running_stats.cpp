#include "train/running_stats.h"

#include <torch/types.h>

#include <cmath>

#include "nn/blocks/batch_norm.h"

namespace tessera {

RunningStats::RunningStats(SegmentationModel& model, at::Tensor& buffers, Communicator& communicator)
    : model_(model),
      buffers_(buffers),
      communicator_(communicator),
      sums_(at::zeros({buffers.numel() + 1}, buffers.options().dtype(at::kDouble))) {}

int64_t RunningStats::offset_of(const at::Tensor& running) const {
  return running.storage_offset() - buffers_.storage_offset();
}

void RunningStats::begin(int64_t units) {
  units_ = units;
  sums_.zero_();
}

void RunningStats::add(const at::Tensor& running, const at::Tensor& value, int64_t unit, double momentum) {
  const at::NoGradGuard no_grad;
  const double weight = momentum * std::pow(1 - momentum, static_cast<double>(units_ - 1 - unit));
  sums_.narrow(0, offset_of(running), running.numel()).add_(value.detach().to(at::kDouble), weight);
}

void RunningStats::sum(const at::Tensor& loss) {
  const at::NoGradGuard no_grad;
  sums_[buffers_.numel()].copy_(loss);
  communicator_.sum(sums_);
}

at::Tensor RunningStats::apply() {
  const at::NoGradGuard no_grad;
  for (const auto& module : model_.modules(/*include_self=*/false)) {
    const auto* norm = dynamic_cast<const BatchNorm2dImpl*>(module.get());
    if (norm == nullptr || !norm->is_training()) continue;  // frozen: stays as it is
    const double kept = std::pow(1 - norm->momentum(), static_cast<double>(units_));
    for (at::Tensor running : {norm->running_mean, norm->running_var}) {
      running.mul_(kept).add_(sums_.narrow(0, offset_of(running), running.numel()));
    }
  }
  return sums_[buffers_.numel()].clone();
}

}  // namespace tessera
