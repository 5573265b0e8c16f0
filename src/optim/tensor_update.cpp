#include "optim/tensor_update.h"

#include <ATen/ATen.h>

namespace tessera {

void update_with_tensors(at::Tensor& params, const at::Tensor& grads, const std::vector<at::Tensor>& state, int64_t begin,
                         int64_t end, const RunRates& rates, const at::Tensor& factor, UpdateRule rule,
                         const StepNumbers& numbers) {
  at::Tensor w = params.slice(0, begin, end);
  at::Tensor d = grads.slice(0, begin, end);
  if (factor.defined()) d = d * factor;
  if (rates.gradient_decay != 0) d = d.add(w, rates.gradient_decay);
  const double lr = numbers.lr * rates.lr / numbers.first_bias, shrink = 1 - numbers.shrink * rates.shrink;
  if (shrink != 1) w.mul_(shrink);
  if (rule == UpdateRule::kSgd) {
    w.add_(d, -lr);
    return;
  }
  at::Tensor first = state[0].slice(0, begin, end);
  if (rule == UpdateRule::kAdam) {
    at::Tensor second = state[1].slice(0, begin, end);
    first.lerp_(d, 1 - numbers.momentum);
    second.mul_(numbers.beta2).addcmul_(d, d, 1 - numbers.beta2);
    w.addcdiv_(first, second.sqrt().div_(numbers.second_bias).add_(numbers.eps), -lr);
    return;
  }
  first.mul_(numbers.momentum).add_(d);
  w.add_(rule == UpdateRule::kNesterov ? d.add(first, numbers.momentum) : first, -lr);
}

}  // namespace tessera
