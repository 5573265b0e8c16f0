#include "optim/tensor_update.h"

#include <ATen/ATen.h>

namespace tessera {
namespace {

struct RangeViews {
  at::Tensor w, d;  // d: the gradient, scaled
  std::vector<at::Tensor> state;
};

RangeViews views_of(const StepArenas& arenas, const ParamRange& range, const at::Tensor& clip_factor) {
  const auto cut = [&](const at::Tensor& arena) { return arena.slice(0, range.begin, range.end); };
  RangeViews views{cut(arenas.params), cut(arenas.grads), {}};
  if (clip_factor.defined()) views.d = views.d * clip_factor;
  for (const at::Tensor& state : arenas.state) views.state.push_back(cut(state));
  return views;
}

void move_moments(const RangeViews& v, const StepNumbers& numbers) {
  at::Tensor first = v.state[0], second = v.state[1];
  first.lerp_(v.d, 1 - numbers.momentum);
  second.mul_(numbers.beta2).addcmul_(v.d, v.d, 1 - numbers.beta2);
}

at::Tensor denominator(const RangeViews& v, const StepNumbers& numbers) {
  return v.state[1].sqrt().div_(numbers.second_bias).add_(numbers.eps);
}

at::Tensor lamb_update(const RangeViews& v, const RangeRates& rates, const StepNumbers& step) {
  const StepNumbers numbers = with_own_biases(step, rates);
  return (v.state[0] / numbers.first_bias).div_(denominator(v, numbers)).add_(v.w, rates.l2_decay);
}

// norms: the row of trust_norms.
at::Tensor ratio_of(const at::Tensor& norms, const RangeRates& rates, UpdateRule rule, const StepNumbers& numbers) {
  const at::Tensor one = at::ones({}, norms.options());
  if (!rates.use_trust_ratio) return one;
  const at::Tensor weights = norms[0].sqrt(), updates = norms[1].sqrt();
  const at::Tensor ratio = rule == UpdateRule::kLamb
                               ? (norms[0] / norms[1]).sqrt()
                               : numbers.trust_coefficient * weights / (updates + rates.l2_decay * weights + numbers.eps);
  return at::where((norms > 0).all(), ratio, one);
}

// trust: lars's ratio, else undefined.
void update_range(RangeViews& v, const RangeRates& rates, UpdateRule rule, const StepNumbers& step, const at::Tensor& trust) {
  const StepNumbers numbers = with_own_biases(step, rates);
  if (rates.l2_decay != 0) v.d = v.d.add(v.w, rates.l2_decay);
  if (trust.defined()) v.d = v.d * trust;
  const double lr = range_lr(numbers, rates) / numbers.first_bias, keep = 1 - range_decay(numbers, rates);
  if (keep != 1) v.w.mul_(keep);
  if (rule == UpdateRule::kSgd) {
    v.w.add_(v.d, -lr);
  } else if (rule == UpdateRule::kAdam) {
    move_moments(v, numbers);
    v.w.addcdiv_(v.state[0], denominator(v, numbers), -lr);
  } else if (rule == UpdateRule::kLion) {
    v.w.sub_(v.state[0].lerp(v.d, 1 - numbers.momentum).sign_(), lr);
    v.state[0].lerp_(v.d, 1 - numbers.beta2);
  } else {
    v.state[0].mul_(numbers.momentum).add_(v.d);
    v.w.add_(rule == UpdateRule::kNesterov ? v.d.add(v.state[0], numbers.momentum) : v.state[0], -lr);
  }
}

}  // namespace

void update_with_tensors(const StepArenas& arenas, const std::vector<ParamRange>& ranges, const std::vector<RangeRates>& rates,
                         const at::Tensor& clip_factor, UpdateRule rule, const StepNumbers& numbers, const at::Tensor& norms) {
  for (size_t i = 0; i < ranges.size(); ++i) {
    RangeViews v = views_of(arenas, ranges[i], clip_factor);
    at::Tensor trust;
    if (needs_norms(rule)) trust = ratio_of(norms[static_cast<int64_t>(i)], rates[i], rule, numbers).to(v.w.scalar_type());
    if (rule == UpdateRule::kLamb) {
      v.w.sub_(lamb_update(v, rates[i], numbers).mul_(trust), range_lr(numbers, rates[i]));
    } else {
      update_range(v, rates[i], rule, numbers, trust);
    }
  }
}

at::Tensor trust_norms_with_tensors(const StepArenas& arenas, const std::vector<ParamRange>& ranges,
                                    const std::vector<RangeRates>& rates, const at::Tensor& clip_factor, UpdateRule rule,
                                    const StepNumbers& numbers) {
  at::Tensor norms = at::zeros({static_cast<int64_t>(ranges.size()), 2}, arenas.params.options().dtype(at::kDouble));
  for (size_t i = 0; i < ranges.size(); ++i) {
    const RangeViews v = views_of(arenas, ranges[i], clip_factor);
    const bool lamb = rule == UpdateRule::kLamb;
    if (lamb) move_moments(v, numbers);
    at::Tensor row = norms[static_cast<int64_t>(i)];
    row[0] = v.w.to(at::kDouble).square().sum();
    row[1] = (lamb ? lamb_update(v, rates[i], numbers) : v.d).to(at::kDouble).square().sum();
  }
  return norms;
}

void write_out_with_tensors(const StepArenas& arenas, const StepNumbers& numbers, bool skips) {
  at::Tensor average = arenas.average, copies = arenas.copies;
  if (average.defined() && !skips) average.lerp_(arenas.params, numbers.average_weight);
  if (copies.defined()) copies.copy_(arenas.params);
}

}  // namespace tessera
