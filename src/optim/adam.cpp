#include "optim/adam.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

#include <cmath>

namespace tessera {
namespace {

// The moments start at 0; these undo the bias of that towards 0.
struct BiasCorrection {
  double step_size;     // lr / (1 - beta1^t)
  double second_scale;  // sqrt(1 - beta2^t)
};

BiasCorrection bias_correction(const RunStep& run, double beta2, int64_t step) {
  const auto t = static_cast<double>(step);
  return {run.lr / (1 - std::pow(run.momentum, t)), std::sqrt(1 - std::pow(beta2, t))};
}

template <class T>
void adam_loop(T* __restrict w, const T* __restrict g, T* __restrict first, T* __restrict second, const RunStep& run,
               const BiasCorrection& bias, double beta2_value, double eps_value) {
  const auto decay = static_cast<T>(run.gradient_decay);
  const auto shrink = static_cast<T>(run.shrink);
  const auto new_share1 = static_cast<T>(1 - run.momentum);
  const auto beta2 = static_cast<T>(beta2_value);
  const auto new_share2 = static_cast<T>(1 - beta2_value);
  const auto eps = static_cast<T>(eps_value);
  const auto step_size = static_cast<T>(bias.step_size);
  const auto second_scale = static_cast<T>(bias.second_scale);
  for (int64_t i = run.begin; i < run.end; ++i) {
    const T d = g[i] + decay * w[i];
    const T m = first[i] + new_share1 * (d - first[i]);
    const T v = beta2 * second[i] + new_share2 * d * d;
    first[i] = m;
    second[i] = v;
    w[i] = shrink * w[i] - step_size * (m / (std::sqrt(v) / second_scale + eps));
  }
}

}  // namespace

Adam::Adam(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused)
    : Optimizer(config, spans, arena, fused) {
  add_state("exp_avg");
  add_state("exp_avg_sq");
}

void Adam::update_cpu(at::Tensor& params, const at::Tensor& grads, const RunStep& run) {
  const BiasCorrection bias = bias_correction(run, config_.betas[1], step_count());
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "adam", [&] {
    adam_loop(params.mutable_data_ptr<scalar_t>(), grads.const_data_ptr<scalar_t>(), state_at(0).mutable_data_ptr<scalar_t>(),
              state_at(1).mutable_data_ptr<scalar_t>(), run, bias, config_.betas[1], config_.eps);
  });
}

void Adam::update_tensors(at::Tensor& params, const at::Tensor& grads, const RunStep& run) {
  const BiasCorrection bias = bias_correction(run, config_.betas[1], step_count());
  at::Tensor w = params.slice(0, run.begin, run.end);
  at::Tensor first = state_at(0).slice(0, run.begin, run.end);
  at::Tensor second = state_at(1).slice(0, run.begin, run.end);
  at::Tensor d = grads.slice(0, run.begin, run.end);
  if (run.gradient_decay != 0) d = d.add(w, run.gradient_decay);
  first.lerp_(d, 1 - run.momentum);
  second.mul_(config_.betas[1]).addcmul_(d, d, 1 - config_.betas[1]);
  if (run.shrink != 1) w.mul_(run.shrink);
  w.addcdiv_(first, second.sqrt().div_(bias.second_scale).add_(config_.eps), -bias.step_size);
}

}  // namespace tessera
