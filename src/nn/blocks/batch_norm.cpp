#include "nn/blocks/batch_norm.h"

#include <torch/types.h>

#include <cmath>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/norm/norm_act.h"
#include "nn/blocks/synced_batch_norm.h"
#include "tensor/step_context.h"

namespace tessera {
namespace {

// The units of a pass over x.
std::vector<NormSegment> units_of(const StepContext& context, const at::Tensor& x) {
  const bool one = context.segments.size() <= 1 && context.norm_rows == 0 && context.running_statistics == nullptr;
  const auto units = one ? std::vector<NormSegment>{{.begin = 0, .end = x.size(0), .unit_size = x.size(0)}} : context.segments;
  for (const NormSegment& unit : units) {
    TSR_CHECK(!unit.counts || unit.unit_size * x.size(2) * x.size(3) > 1,
              "batch norm over one value has no variance: here features are 1 x 1 and a batch-norm unit has 1 sample; raise "
              "train.batch_size or train.norm_group (a model that pools whole images needs 2 samples), or use larger crops");
  }
  return units;
}

}  // namespace

BatchNorm2dImpl::BatchNorm2dImpl(int64_t channels, double eps, double momentum) : eps_(eps), momentum_(momentum) {
  weight = register_parameter("weight", torch::ones({channels}));
  bias = register_parameter("bias", torch::zeros({channels}));
  running_mean = register_buffer("running_mean", torch::zeros({channels}));
  running_var = register_buffer("running_var", torch::ones({channels}));
}

at::Tensor BatchNorm2dImpl::forward(const at::Tensor& x) {
  return run(x, {}, /*relu=*/false);
}
at::Tensor BatchNorm2dImpl::norm_relu(const at::Tensor& x) {
  return run(x, {}, /*relu=*/true);
}
at::Tensor BatchNorm2dImpl::norm_relu(const at::Tensor& x, const at::Tensor& offset) {
  return with_units(x, {}, offset, /*relu=*/true);
}
bool BatchNorm2dImpl::can_fuse_offset(const at::Tensor& x) const {
  return is_training() && use_fused(x);
}
NormPooled BatchNorm2dImpl::norm_relu_pool(const at::Tensor& x, const at::Tensor& offset, int64_t before) {
  const auto [moments, options] = unit_moments(x, offset, /*relu=*/true);
  return norm_pool(x, weight, bias, moments, options, before);
}
bool BatchNorm2dImpl::can_fuse_pool(const at::Tensor& x) const {
  return is_training() && can_fuse_norm_pool(x, weight);
}
at::Tensor BatchNorm2dImpl::norm_add_relu(const at::Tensor& x, const at::Tensor& residual) {
  return run(x, residual, /*relu=*/true);
}

const FoldedConv& BatchNorm2dImpl::fold(const torch::nn::Conv2dImpl& conv, at::ScalarType type) {
  std::vector<int64_t> now{static_cast<int64_t>(type)};
  for (const at::Tensor& part : {conv.weight, conv.bias, weight, bias, running_mean, running_var}) {
    if (!part.defined()) continue;
    now.push_back(part._version());
    now.push_back(reinterpret_cast<int64_t>(part.const_data_ptr()));
  }
  if (folded_.weight.defined() && now == folded_of_) return folded_;
  const at::Tensor scale = weight.to(at::kDouble) / (running_var.to(at::kDouble) + eps_).sqrt();
  const at::Tensor mean = conv.bias.defined() ? running_mean - conv.bias : running_mean;
  const at::Tensor whole = conv.weight.to(at::kDouble) * scale.view({-1, 1, 1, 1});
  folded_ = {whole.to(type).contiguous(at::MemoryFormat::ChannelsLast), (bias - mean.to(at::kDouble) * scale).to(type)};
  folded_of_ = now;
  return folded_;
}

// Steps change weights without changing their version: see Note [Arena].
void BatchNorm2dImpl::train(bool on) {
  if (on) folded_ = {};
  torch::nn::Module::train(on);
}

at::Tensor BatchNorm2dImpl::run(const at::Tensor& x, const at::Tensor& residual, bool relu) {
  if (!use_fused(x) && (!is_training() || step_context().norm_rows == 0)) {
    at::Tensor y = by_libtorch(x);
    if (residual.defined()) y.add_(residual);
    return relu ? y.relu_() : y;
  }
  return is_training() ? with_units(x, residual, {}, relu) : with_running_averages(x, residual, relu);
}

at::Tensor BatchNorm2dImpl::by_libtorch(const at::Tensor& x) {
  const auto norm = [&](const at::Tensor& part, const at::Tensor& mean, const at::Tensor& var, double momentum) {
    return at::batch_norm(part, weight, bias, mean, var, is_training(), momentum, eps_, /*cudnn_enabled=*/true);
  };
  if (!is_training()) return norm(x, running_mean, running_var, momentum_);
  NormStatistics* statistics = step_context().running_statistics;
  std::vector<at::Tensor> parts;
  for (const NormSegment& segment : units_of(step_context(), x)) {
    // A narrow of everything is left out: backward would fill and copy a tensor of zeros for it.
    const bool whole = segment.end - segment.begin == x.size(0);
    const at::Tensor part = whole ? x : x.narrow(0, segment.begin, segment.end - segment.begin);
    if (statistics == nullptr && segment.counts) {
      parts.push_back(norm(part, running_mean, running_var, momentum_));
      continue;
    }
    // With momentum 1 the running averages become the unit's own statistics.
    const at::Tensor mean = at::zeros_like(running_mean), var = at::zeros_like(running_var);
    parts.push_back(norm(part, mean, var, /*momentum=*/1.0));
    if (statistics == nullptr || !segment.counts) continue;
    statistics->add(running_mean, mean, segment.unit, momentum_);
    statistics->add(running_var, var, segment.unit, momentum_);
  }
  return parts.size() == 1 ? parts[0] : at::cat(parts);
}

at::Tensor BatchNorm2dImpl::with_running_averages(const at::Tensor& x, const at::Tensor& residual, bool relu) {
  const at::Tensor moments = at::stack({running_mean, running_var}).unsqueeze(0).to(at::kDouble);
  return norm_act(x, residual, weight, bias, moments,
                  {.ends = {x.size(0)}, .eps = eps_, .relu = relu, .constant_moments = true});
}

std::pair<at::Tensor, NormActOptions> BatchNorm2dImpl::unit_moments(const at::Tensor& x, const at::Tensor& offset, bool relu) {
  const StepContext& context = step_context();
  const std::vector<NormSegment> segments = units_of(context, x);
  NormActOptions options{.eps = eps_, .relu = relu};
  bool own_updates = context.running_statistics == nullptr;  // of the running averages
  for (const NormSegment& segment : segments) {
    options.ends.push_back(segment.end);
    own_updates = own_updates && segment.row < 0 && segment.counts;
  }
  at::Tensor moments =
      own_updates ? norm_moments(x, options.ends, running_mean, running_var, momentum_) : norm_moments(x, options.ends);
  if (offset.defined() && own_updates) {
    const double combined_momentum = 1 - std::pow(1 - momentum_, static_cast<double>(segments.size()));
    running_mean.add_(offset.detach(), combined_momentum);
  }
  if (context.norm_rows > 0) synchronise_units(x, segments, context, moments, options);
  for (size_t i = 0; i < segments.size() && !own_updates; ++i) {
    const NormSegment& segment = segments[i];
    const bool spread = segment.row >= 0;
    if (spread ? !segment.owner : !segment.counts) continue;
    const auto count = static_cast<double>(segment.unit_size * x.size(2) * x.size(3));
    const at::Tensor unit = moments[static_cast<int64_t>(i)], var = unit[1] * (count / (count - 1));
    const at::Tensor mean = offset.defined() ? unit[0] + offset.detach() : unit[0];
    if (context.running_statistics != nullptr) {
      context.running_statistics->add(running_mean, mean, segment.unit, momentum_);
      context.running_statistics->add(running_var, var, segment.unit, momentum_);
    } else if (!spread) {
      running_mean.mul_(1 - momentum_).add_(mean, momentum_);
      running_var.mul_(1 - momentum_).add_(var, momentum_);
    }
  }
  return {moments, options};
}

at::Tensor BatchNorm2dImpl::with_units(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& offset, bool relu) {
  const auto [moments, options] = unit_moments(x, offset, relu);
  return norm_act(x, residual, weight, bias, moments, options);
}

}  // namespace tessera
