#include "nn/blocks/synced_batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>
#include <torch/types.h>

namespace tessera {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

struct SyncedPass : torch::CustomClassHolder {
  SyncedPass(std::vector<NormSegment> s, int64_t r, NormExchange& e) : segments(std::move(s)), rows(r), exchange(e) {}
  std::vector<NormSegment> segments;
  int64_t rows;
  NormExchange& exchange;
  std::vector<SyncedStatistics> units;
};

at::Tensor part_of(const at::Tensor& x, const NormSegment& segment) {
  return x.narrow(0, segment.begin, segment.end - segment.begin);
}

at::Tensor per_channel(const at::Tensor& values) {
  return values.view({1, -1, 1, 1});
}

// Values in a unit's statistics: all its samples, on whatever rank.
double count_of(const NormSegment& segment, const at::Tensor& x) {
  return static_cast<double>(segment.unit_size * x.size(2) * x.size(3));
}

// Computes in float32 for half types, else in x's own.
at::ScalarType compute_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

struct SyncedBatchNorm : torch::autograd::Function<SyncedBatchNorm> {
  static at::Tensor forward(AutogradContext* ctx, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                            double eps, const c10::intrusive_ptr<SyncedPass>& pass) {
    // A unit's sum and sum of squares are those of its parts. Each part's come from its mean and variance, which libtorch
    // computes without cancellation.
    at::Tensor sums = at::zeros({pass->rows, 2, x.size(1)}, x.options().dtype(at::kDouble).memory_format(std::nullopt));
    for (const NormSegment& segment : pass->segments) {
      if (!segment.counts) continue;
      const at::Tensor part = part_of(x, segment).to(compute_type(x));
      const auto [var, mean] = at::var_mean(part, at::IntArrayRef{0, 2, 3}, /*correction=*/0);
      const at::Tensor mean64 = mean.to(at::kDouble);
      const auto count = static_cast<double>(part.size(0) * part.size(2) * part.size(3));
      sums[segment.row][0].add_(mean64, count);
      sums[segment.row][1].add_(var.to(at::kDouble) + mean64.square(), count);
    }
    pass->exchange.sum(sums);
    std::vector<at::Tensor> outputs;
    variable_list saved{x, weight};
    for (const NormSegment& segment : pass->segments) {
      const at::Tensor mean = sums[segment.row][0] / count_of(segment, x);
      const at::Tensor var = (sums[segment.row][1] / count_of(segment, x) - mean.square()).clamp_min(0);
      const at::Tensor unit_mean = mean.to(weight.scalar_type()), unit_var = var.to(weight.scalar_type());
      outputs.push_back(at::batch_norm(part_of(x, segment), weight, bias, unit_mean, unit_var, /*training=*/false, 0.0, eps,
                                       /*cudnn_enabled=*/false));
      pass->units.push_back({unit_mean, unit_var});
      saved.push_back(mean);
      saved.push_back((var + eps).rsqrt());
    }
    ctx->save_for_backward(saved);
    ctx->saved_data["pass"] = c10::IValue::make_capsule(pass);
    return outputs.size() == 1 ? outputs[0] : at::cat(outputs);
  }

  static variable_list backward(AutogradContext* ctx, const variable_list& gradients) {
    const auto holder = ctx->saved_data["pass"].toCapsule();
    const auto& pass = static_cast<const SyncedPass&>(*holder);
    const variable_list saved = ctx->get_saved_variables();
    const at::Tensor &x = saved[0], &weight = saved[1];
    const at::ScalarType type = compute_type(x);
    at::Tensor sums = at::zeros({pass.rows, 2, x.size(1)}, x.options().dtype(at::kDouble).memory_format(std::nullopt));
    at::Tensor weight_grad = at::zeros({x.size(1)}, sums.options()), bias_grad = at::zeros_like(weight_grad);
    struct Part {
      at::Tensor dy, normal, scale;
    };
    std::vector<Part> parts;
    for (size_t i = 0; i < pass.segments.size(); ++i) {
      const NormSegment& segment = pass.segments[i];
      const at::Tensor &mean = saved[2 + 2 * i], &invstd = saved[3 + 2 * i];
      Part part;
      part.dy = part_of(gradients[0], segment).to(type);
      part.normal = (part_of(x, segment).to(type) - per_channel(mean.to(type))) * per_channel(invstd.to(type));
      part.scale = per_channel((weight.to(at::kDouble) * invstd).to(type));
      if (segment.counts) {
        const at::Tensor dy_sum = part.dy.sum({0, 2, 3}, false, at::kDouble);
        const at::Tensor dot = (part.dy * part.normal).sum({0, 2, 3}, false, at::kDouble);
        sums[segment.row][0].add_(dy_sum);
        sums[segment.row][1].add_(dot);
        bias_grad.add_(dy_sum);
        weight_grad.add_(dot);
      }
      parts.push_back(std::move(part));
    }
    pass.exchange.sum(sums);
    std::vector<at::Tensor> inputs;
    for (size_t i = 0; i < parts.size(); ++i) {
      const NormSegment& segment = pass.segments[i];
      const Part& part = parts[i];
      if (!segment.counts) {  // it influences nothing, so nothing flows back
        inputs.push_back(at::zeros_like(part.dy));
        continue;
      }
      const at::Tensor mean = (sums[segment.row] / count_of(segment, x)).to(type);
      inputs.push_back((part.dy - per_channel(mean[0]) - part.normal * per_channel(mean[1])) * part.scale);
    }
    const at::Tensor dx = (inputs.size() == 1 ? inputs[0] : at::cat(inputs)).to(x.scalar_type());
    return {dx, weight_grad.to(weight.scalar_type()), bias_grad.to(weight.scalar_type()), {}, {}};
  }
};

}  // namespace

SyncedNorm synced_batch_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps,
                             const std::vector<NormSegment>& segments, int64_t rows, NormExchange& exchange) {
  const auto pass = c10::make_intrusive<SyncedPass>(segments, rows, exchange);
  SyncedNorm result;
  result.output = SyncedBatchNorm::apply(x, weight, bias, eps, pass);
  result.units = std::move(pass->units);
  return result;
}

}  // namespace tessera
