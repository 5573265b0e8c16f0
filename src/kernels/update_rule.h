#pragma once
#include <cmath>
#include <cstdint>

#include "kernels/philox.h"  // TSR_HOST_DEVICE

namespace tessera {

// How an optimizer step changes one value, as the CPU's loop and the GPU's kernel both have it.
enum class UpdateRule : int64_t { kSgd, kMomentum, kNesterov, kAdam };

// What a run of parameters has of its own; it never changes, so it lies on the device as a row of a table.
struct RunRates {
  double lr = 1;              // multiplies the step's learning rate
  double gradient_decay = 0;  // this times the weight is added to the gradient
  double shrink = 0;          // this times the step's `shrink` is the share that a weight loses
};

// What a step has of its own; it goes to the kernel as an argument.
struct StepNumbers {
  double lr = 0;
  double shrink = 0;
  double momentum = 0;  // adam: beta 1
  double beta2 = 0, eps = 0;
  double first_bias = 1, second_bias = 1;  // the moments start at 0; dividing by these undoes the bias of that towards 0
};

// Both for one run, in the type of the arena.
template <class T>
struct RunNumbers {
  T lr, gradient_decay, shrink, factor;  // factor: multiplies the gradient before anything else
  T momentum, new_share1, beta2, new_share2, second_bias, eps;
};

template <class T>
TSR_HOST_DEVICE RunNumbers<T> run_numbers(const StepNumbers& step, const RunRates& rates, double factor) {
  return {static_cast<T>(step.lr * rates.lr / step.first_bias),
          static_cast<T>(rates.gradient_decay),
          static_cast<T>(1 - step.shrink * rates.shrink),
          static_cast<T>(factor),
          static_cast<T>(step.momentum),
          static_cast<T>(1 - step.momentum),
          static_cast<T>(step.beta2),
          static_cast<T>(1 - step.beta2),
          static_cast<T>(step.second_bias),
          static_cast<T>(step.eps)};
}

// One value: w the weight, g its gradient, first and second its state (momentum; or the two moments).
template <UpdateRule kRule, class T>
TSR_HOST_DEVICE void update_value(T& w, T g, T& first, T& second, const RunNumbers<T>& n) {
  const T d = n.factor * g + n.gradient_decay * w;
  if constexpr (kRule == UpdateRule::kSgd) {
    w = n.shrink * w - n.lr * d;
  } else if constexpr (kRule == UpdateRule::kAdam) {
    first = first + n.new_share1 * (d - first);
    second = n.beta2 * second + n.new_share2 * d * d;
    w = n.shrink * w - n.lr * (first / (std::sqrt(second) / n.second_bias + n.eps));
  } else {
    first = n.momentum * first + d;
    w = n.shrink * w - n.lr * (kRule == UpdateRule::kNesterov ? d + n.momentum * first : first);
  }
}

}  // namespace tessera
