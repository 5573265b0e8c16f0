#include "optim/sgd.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>

namespace tessera {
namespace {

template <class T>
void plain_loop(T* __restrict w, const T* __restrict g, const RunStep& run) {
  const auto lr = static_cast<T>(run.lr);
  const auto decay = static_cast<T>(run.gradient_decay);
  const auto shrink = static_cast<T>(run.shrink);
  for (int64_t i = run.begin; i < run.end; ++i) w[i] = shrink * w[i] - lr * (g[i] + decay * w[i]);
}

template <bool kNesterov, class T>
void momentum_loop(T* __restrict w, const T* __restrict g, T* __restrict buffer, const RunStep& run) {
  const auto lr = static_cast<T>(run.lr);
  const auto decay = static_cast<T>(run.gradient_decay);
  const auto shrink = static_cast<T>(run.shrink);
  const auto momentum = static_cast<T>(run.momentum);
  for (int64_t i = run.begin; i < run.end; ++i) {
    const T d = g[i] + decay * w[i];
    const T b = momentum * buffer[i] + d;
    buffer[i] = b;
    w[i] = shrink * w[i] - lr * (kNesterov ? d + momentum * b : b);
  }
}

}  // namespace

Sgd::Sgd(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused)
    : Optimizer(config, spans, arena, fused) {
  if (config.momentum > 0) add_state("momentum");
}

void Sgd::update_cpu(at::Tensor& params, const at::Tensor& grads, const RunStep& run) {
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "sgd", [&] {
    auto* w = params.mutable_data_ptr<scalar_t>();
    const auto* g = grads.const_data_ptr<scalar_t>();
    if (state().empty()) return plain_loop(w, g, run);
    auto* buffer = state_at(0).mutable_data_ptr<scalar_t>();
    config_.nesterov ? momentum_loop<true>(w, g, buffer, run) : momentum_loop<false>(w, g, buffer, run);
  });
}

void Sgd::update_tensors(at::Tensor& params, const at::Tensor& grads, const RunStep& run) {
  at::Tensor w = params.slice(0, run.begin, run.end);
  at::Tensor d = grads.slice(0, run.begin, run.end);
  if (run.gradient_decay != 0) d = d.add(w, run.gradient_decay);
  if (!state().empty()) {
    at::Tensor buffer = state_at(0).slice(0, run.begin, run.end);
    buffer.mul_(run.momentum).add_(d);
    d = config_.nesterov ? d.add(buffer, run.momentum) : buffer;
  }
  if (run.shrink != 1) w.mul_(run.shrink);
  w.add_(d, -run.lr);
}

}  // namespace tessera
