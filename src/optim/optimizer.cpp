#include "optim/optimizer.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <fmt/ranges.h>

#include <cmath>

#include "core/error.h"
#include "kernels/common/fused.h"
#include "kernels/update/step_arguments.h"
#include "optim/tensor_update.h"

namespace tessera {
namespace {

bool is_sgd(OptimizerType type) {
  return type == OptimizerType::kSgd || type == OptimizerType::kDecoupledSgd;
}

bool has_momentum(OptimizerType type) {
  return is_sgd(type) || type == OptimizerType::kLars;
}

// First and second ones, which begin at 0 and are corrected for that.
bool has_moments(OptimizerType type) {
  return type == OptimizerType::kAdam || type == OptimizerType::kAdamW || type == OptimizerType::kLamb;
}

void check_options(const OptimizerConfig& config) {
  TSR_CHECK_USAGE(config.betas.size() == 2 && config.betas[0] < 1 && config.betas[1] < 1,
                  "expected optimizer.betas of two numbers below 1, e.g. [0.9, 0.999], got [{}]",
                  fmt::join(config.betas, ", "));
  TSR_CHECK_USAGE(!config.nesterov || !is_sgd(config.type) || config.momentum > 0,
                  "optimizer.nesterov needs optimizer.momentum above 0, got 0");
}

RangeRates rates_of(const ParamRange& range, OptimizerType type, const LrRange& lr) {
  const LrRange own = lr.of_group(range.lr_multiplier);
  RangeRates rates{
      .lr_scale = range.lr_multiplier, .final_lr = own.final_lr, .begun_after = static_cast<double>(range.begun_after)};
  switch (type) {
    case OptimizerType::kLars:
    case OptimizerType::kLamb: rates.use_trust_ratio = range.use_trust_ratio; [[fallthrough]];
    case OptimizerType::kSgd:
    case OptimizerType::kAdam: rates.l2_decay = range.weight_decay; return rates;
    case OptimizerType::kAdamW:
    case OptimizerType::kLion:
      rates.decoupled_decay = range.lr_multiplier * range.weight_decay;
      rates.final_decay = own.final_lr * range.weight_decay;
      return rates;
    // The decay follows the schedule but not the size of the learning rate, as in Composer's DecoupledSGDW. A range without a
    // learning rate stays as it is, with any optimizer.
    case OptimizerType::kDecoupledSgd:
      if (own.full == 0) return rates;
      rates.decoupled_decay = range.weight_decay;
      rates.final_decay = own.final_lr / own.full * range.weight_decay;
      return rates;
  }
  fail("an optimizer without a rule");
}

}  // namespace

Optimizer::Optimizer(const OptimizerConfig& config, const LrRange& lr, const std::vector<ParamSpan>& spans,
                     const at::Tensor& arena, bool fused)
    : config_(config),
      lr_(lr),
      empty_(at::empty({0}, arena.options().requires_grad(false))),
      numel_(arena.numel()),
      fused_(fused && use_fused(arena)) {
  check_options(config);
  TSR_CHECK(arena.scalar_type() == at::kFloat || arena.scalar_type() == at::kDouble,
            "expected parameters of float32 or float64, got {}", toString(arena.scalar_type()));
  const auto add_state = [&](const char* name) { state_.emplace_back(name, at::zeros({numel_}, empty_.options())); };
  if (has_momentum(config.type)) {
    if (config.momentum > 0 || !is_sgd(config.type)) add_state("momentum");
  } else {
    add_state("exp_avg");
    if (has_moments(config.type)) add_state("exp_avg_sq");
  }
  set_spans(spans);
}

void Optimizer::set_spans(const std::vector<ParamSpan>& spans) {
  const c10::NoGradGuard no_grad;
  ranges_ = make_ranges(spans, config_);
  TSR_CHECK(ranges_.empty() || ranges_.back().end <= numel_, "parameters end at {}, their arena at {}", ranges_.back().end,
            numel_);
  std::vector<std::pair<int64_t, int64_t>> bounds;
  rates_.clear();
  for (const ParamRange& range : ranges_) {
    bounds.emplace_back(range.begin, range.end);
    rates_.push_back(rates_of(range, config_.type, lr_));
  }
  table_ = make_range_table(bounds, rates_, empty_.device());
  for (const ParamSpan& span : spans) {
    if (!span.at_rest) continue;
    for (const auto& entry : state_) entry.second.narrow(0, span.offset, span.numel).zero_();
  }
}

UpdateRule Optimizer::rule() const {
  if (config_.type == OptimizerType::kLamb) return UpdateRule::kLamb;
  if (config_.type == OptimizerType::kLars) return UpdateRule::kLars;
  if (config_.type == OptimizerType::kLion) return UpdateRule::kLion;
  if (has_moments(config_.type)) return UpdateRule::kAdam;
  if (state_.empty()) return UpdateRule::kSgd;
  return config_.nesterov ? UpdateRule::kNesterov : UpdateRule::kMomentum;
}

StepNumbers Optimizer::numbers(const LrPoint& lr, double momentum) const {
  const double rate = lr.full_weight * lr_.full;
  StepNumbers step{.lr = rate,
                   .decay = config_.type == OptimizerType::kDecoupledSgd ? lr.full_weight : rate,
                   .final_weight = lr.final_weight,
                   .momentum = momentum,
                   .beta2 = config_.betas[1],
                   .eps = config_.eps,
                   .trust_coefficient = config_.trust_coefficient};
  if (has_moments(config_.type)) set_biases(step, static_cast<double>(step_count_));
  return step;
}

void Optimizer::step(at::Tensor& params, const at::Tensor& grads, const LrPoint& lr, std::optional<double> momentum,
                     const StepExtras& extras) {
  const c10::NoGradGuard no_grad;
  for (const at::Tensor& arena : {params, grads}) {
    TSR_CHECK(arena.numel() == numel_ && arena.is_contiguous() && arena.scalar_type() == empty_.scalar_type() &&
                  arena.device() == empty_.device(),
              "expected contiguous parameters and gradients of {} values of {}, got {} of {}", numel_,
              toString(empty_.scalar_type()), arena.numel(), toString(arena.scalar_type()));
  }
  for (const at::Tensor& arena : {extras.average, extras.copies}) {
    TSR_CHECK(!arena.defined() || (arena.numel() == numel_ && arena.is_contiguous()),
              "expected an average and copies of {} parameters, got {}", numel_, arena.numel());
  }
  ++step_count_;
  const double own_momentum = has_momentum(config_.type) ? config_.momentum : config_.betas[0];
  StepNumbers step = numbers(lr, momentum.value_or(own_momentum));
  step.average_weight = extras.average_weight;
  StepArenas arenas{params, grads, {}, extras.average, extras.copies};
  for (const auto& entry : state_) arenas.state.push_back(entry.second);
  if (!fused_) return step_with_tensors(arenas, extras.scale, step);
  at::Tensor norms;
  if (needs_norms(rule())) {
    norms = trust_norms(arenas, table_, extras.scale, rule(), step);
    if (sum_norms_) sum_norms_(norms);
  }
  optimizer_step(arenas, table_, extras.scale, rule(), step, norms);
}

// With loss scaling it waits for the device.
void Optimizer::step_with_tensors(const StepArenas& arenas, const GradientScale& scale, StepNumbers numbers) {
  bool skips = false;
  if (scale.scaling.defined()) {
    const at::Tensor counted = scale.scaling.cpu();
    skips = skips_step(scale.clip_factor.item<double>(), scaling_pointer(counted));
    if (has_moments(config_.type)) set_biases(numbers, scaling_pointer(counted)->applied_steps);
  }
  if (!skips) {
    at::Tensor norms;
    if (needs_norms(rule())) {
      norms = trust_norms_with_tensors(arenas, ranges_, rates_, scale.clip_factor, rule(), numbers);
      if (sum_norms_) sum_norms_(norms);
    }
    update_with_tensors(arenas, ranges_, rates_, scale.clip_factor, rule(), numbers, norms);
  }
  write_out_with_tensors(arenas, numbers, skips);
}

}  // namespace tessera
