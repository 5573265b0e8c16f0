#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <c10/core/GradMode.h>

#include <algorithm>

#include "core/error.h"
#include "optim/adam.h"
#include "optim/sgd.h"

namespace tessera {
namespace {

// Below this many values a thread is not worth waking.
constexpr int64_t kGrain = 1 << 15;

bool is_sgd(OptimizerType type) {
  return type == OptimizerType::kSgd || type == OptimizerType::kDecoupledSgd;
}

void check_options(const OptimizerConfig& config) {
  TSR_CHECK(config.betas.size() == 2 && config.betas[0] < 1 && config.betas[1] < 1,
            "expected optimizer.betas of two numbers below 1, e.g. [0.9, 0.999]");
  TSR_CHECK(!config.nesterov || !is_sgd(config.type) || config.momentum > 0,
            "optimizer.nesterov needs optimizer.momentum above 0, got 0");
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const std::vector<ParamSpan>& spans, const at::Tensor& arena, bool fused)
    : config_(config),
      runs_(make_runs(spans, config)),
      empty_(at::empty({0}, arena.options().requires_grad(false))),
      numel_(arena.numel()),
      fused_(fused && arena.is_cpu()) {
  TSR_CHECK(arena.scalar_type() == at::kFloat || arena.scalar_type() == at::kDouble,
            "expected parameters of float32 or float64, got {}", toString(arena.scalar_type()));
  TSR_CHECK(runs_.empty() || runs_.back().end <= numel_, "parameters end at {}, their arena at {}", runs_.back().end, numel_);
}

void Optimizer::add_state(const std::string& name) {
  state_.emplace_back(name, at::zeros({numel_}, empty_.options()));
}

RunStep Optimizer::plan(const ParamRun& run, double lr, double momentum) const {
  RunStep step{run.begin, run.end, lr * run.lr_multiplier, momentum, 0, 1};
  switch (config_.type) {
    case OptimizerType::kSgd:
    case OptimizerType::kAdam: step.gradient_decay = run.weight_decay; break;
    case OptimizerType::kAdamW: step.shrink = 1 - step.lr * run.weight_decay; break;
    // As Composer's DecoupledSGDW: the decay follows the schedule but not the size of the learning rate.
    case OptimizerType::kDecoupledSgd: step.shrink = 1 - (config_.lr > 0 ? lr / config_.lr : 1) * run.weight_decay; break;
  }
  return step;
}

void Optimizer::step(at::Tensor& params, const at::Tensor& grads, double lr, std::optional<double> momentum) {
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& arena : {params, grads}) {
    TSR_CHECK(arena.numel() == numel_ && arena.is_contiguous() && arena.scalar_type() == empty_.scalar_type() &&
                  arena.device() == empty_.device(),
              "expected contiguous parameters and gradients of {} values of {}, got {} of {}", numel_,
              toString(empty_.scalar_type()), arena.numel(), toString(arena.scalar_type()));
  }
  ++step_count_;
  const double own_momentum = is_sgd(config_.type) ? config_.momentum : config_.betas[0];
  std::vector<RunStep> runs;
  runs.reserve(runs_.size());
  for (const ParamRun& run : runs_) runs.push_back(plan(run, lr, momentum.value_or(own_momentum)));
  if (fused_) return step_cpu(params, grads, runs);
  for (const RunStep& run : runs) update_tensors(params, grads, run);
}

void Optimizer::step_cpu(at::Tensor& params, const at::Tensor& grads, const std::vector<RunStep>& runs) {
  // Threads share out the arena, not the runs: most runs are a norm layer's few values.
  at::parallel_for(0, numel_, kGrain, [&](int64_t begin, int64_t end) {
    auto run = std::partition_point(runs.begin(), runs.end(), [&](const RunStep& r) { return r.end <= begin; });
    for (; run != runs.end() && run->begin < end; ++run) {
      RunStep part = *run;
      part.begin = std::max(part.begin, begin);
      part.end = std::min(part.end, end);
      update_cpu(params, grads, part);
    }
  });
}

std::unique_ptr<Optimizer> make_optimizer(const OptimizerConfig& config, const std::vector<ParamSpan>& spans,
                                          const at::Tensor& arena, bool fused) {
  check_options(config);
  if (is_sgd(config.type)) return std::make_unique<Sgd>(config, spans, arena, fused);
  return std::make_unique<Adam>(config, spans, arena, fused);
}

}  // namespace tessera
