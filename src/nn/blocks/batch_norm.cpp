#include "nn/blocks/batch_norm.h"

#include <torch/types.h>

#include "nn/blocks/synced_batch_norm.h"
#include "tensor/step_context.h"

namespace tessera {

BatchNorm2dImpl::BatchNorm2dImpl(int64_t channels, double eps, double momentum) : eps_(eps), momentum_(momentum) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
  running_mean = register_buffer("running_mean", torch::zeros({channels}));
  running_var = register_buffer("running_var", torch::ones({channels}));
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  const StepContext& context = step_context();
  const bool whole = context.segments.size() <= 1 && context.norm_rows == 0 && context.running_statistics == nullptr;
  if (!is_training() || whole) {
    return at::batch_norm(x, weight, bias, running_mean, running_var, is_training(), momentum_, eps_,
                          /*cudnn_enabled=*/true);
  }
  std::vector<NormSegment> shared;
  std::vector<at::Tensor> parts;
  for (const NormSegment& segment : context.segments) {
    if (segment.row >= 0) shared.push_back(segment);
  }
  if (!shared.empty()) {
    const SyncedNorm result =
        synced_batch_norm(x.narrow(0, 0, shared.back().end), weight, bias, eps_, shared, context.norm_rows, *context.exchange);
    parts.push_back(result.output);
    for (size_t i = 0; i < shared.size() && context.running_statistics != nullptr; ++i) {
      if (!shared[i].owner) continue;
      const auto count = static_cast<double>(shared[i].unit_size * x.size(2) * x.size(3));
      context.running_statistics->add(running_mean, result.units[i].mean, shared[i].unit, momentum_);
      context.running_statistics->add(running_var, result.units[i].var * (count / (count - 1)), shared[i].unit, momentum_);
    }
  }
  for (const NormSegment& segment : context.segments) {
    if (segment.row < 0) parts.push_back(whole_unit(x.narrow(0, segment.begin, segment.end - segment.begin), segment));
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

at::Tensor BatchNorm2dImpl::whole_unit(const at::Tensor& x, const NormSegment& segment) {
  NormStatistics* statistics = step_context().running_statistics;
  if (statistics == nullptr && segment.counts)
    return at::batch_norm(x, weight, bias, running_mean, running_var, true, momentum_, eps_, /*cudnn_enabled=*/true);
  // With momentum 1 the running averages become the unit's own statistics.
  const at::Tensor mean = at::zeros_like(running_mean), var = at::zeros_like(running_var);
  const at::Tensor y = at::batch_norm(x, weight, bias, mean, var, true, /*momentum=*/1.0, eps_,
                                      /*cudnn_enabled=*/true);
  if (statistics == nullptr || !segment.counts) return y;
  statistics->add(running_mean, mean, segment.unit, momentum_);
  statistics->add(running_var, var, segment.unit, momentum_);
  return y;
}

}  // namespace tessera
