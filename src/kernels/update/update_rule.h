#pragma once
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

// How an optimizer step changes one value, as the CPU's loop and the GPU's kernel both have it.
enum class UpdateRule : int64_t { kSgd, kMomentum, kNesterov, kAdam, kLamb };

// What a run of parameters has of its own; it never changes, so it lies on the device as a row of a table.
struct RunRates {
  double lr = 1;              // multiplies the step's learning rate
  double gradient_decay = 0;  // this times the weight is added to the gradient (lamb: to the update)
  double shrink = 0;          // this times the step's `shrink` is the share that a weight loses
  double adapts = 0;          // lamb: not 0 where the step is as long as the weights, see trust_ratio
  double final_lr = 0;        // this and the next times the step's `final_share` come on top of the first and third: what a
  double final_shrink = 0;    // schedule ends at is a rate of its own, not a multiple of another's
};

// What a step has of its own; it goes to the kernel as an argument.
struct StepNumbers {
  double lr = 0;
  double shrink = 0;
  double final_share = 0;
  double momentum = 0;  // adam, lamb: beta 1
  double beta2 = 0, eps = 0;
  double first_bias = 1, second_bias = 1;  // the moments start at 0; dividing by these undoes the bias of that towards 0
  double average_share = 0;                // of the new weight in the moving average
};

TSR_HOST_DEVICE void set_biases(StepNumbers& numbers, double steps) {
  numbers.first_bias = 1 - std::pow(numbers.momentum, steps);
  numbers.second_bias = std::sqrt(1 - std::pow(numbers.beta2, steps));
}

// A run's learning rate in a step, and the share that its weights lose.
TSR_HOST_DEVICE double run_lr(const StepNumbers& step, const RunRates& rates) {
  return step.lr * rates.lr + step.final_share * rates.final_lr;
}
TSR_HOST_DEVICE double run_shrink(const StepNumbers& step, const RunRates& rates) {
  return step.shrink * rates.shrink + step.final_share * rates.final_shrink;
}

// Both for one run, in the type of the arena.
template <class T>
struct RunNumbers {
  T lr, gradient_decay, shrink, factor;  // factor: multiplies the gradient before anything else
  T momentum, new_share1, beta2, new_share2, first_bias, second_bias, eps;
  T average_share;
};

// trust: of lamb.
template <UpdateRule kRule, class T>
TSR_HOST_DEVICE RunNumbers<T> run_numbers(const StepNumbers& step, const RunRates& rates, double factor, double trust = 1) {
  const double lr = run_lr(step, rates);
  return {static_cast<T>(kRule == UpdateRule::kLamb ? lr * trust : lr / step.first_bias),
          static_cast<T>(rates.gradient_decay),
          static_cast<T>(1 - run_shrink(step, rates)),
          static_cast<T>(factor),
          static_cast<T>(step.momentum),
          static_cast<T>(1 - step.momentum),
          static_cast<T>(step.beta2),
          static_cast<T>(1 - step.beta2),
          static_cast<T>(step.first_bias),
          static_cast<T>(step.second_bias),
          static_cast<T>(step.eps),
          static_cast<T>(step.average_share)};
}

// Note [LAMB]
// You et al., "Large batch optimization for deep learning" (2020). A tensor's update is Adam's plus decay * weight, and its
// length is made that of the weights: times trust = |w| / |u|. So the moments and both lengths of whole tensors come first
// (lamb_norms), then the step (optimizer_step), which makes the update again from the moments: as much traffic as keeping it,
// and no arena for it.
TSR_HOST_DEVICE double trust_ratio(double weight_squares, double update_squares, double adapts) {
  return adapts != 0 && weight_squares > 0 && update_squares > 0 ? std::sqrt(weight_squares / update_squares) : 1.0;
}
template <class T>
TSR_HOST_DEVICE void move_moments(T d, T& first, T& second, const RunNumbers<T>& n) {
  first = first + n.new_share1 * (d - first);
  second = n.beta2 * second + n.new_share2 * d * d;
}
template <class T>
TSR_HOST_DEVICE T lamb_update(T w, T first, T second, const RunNumbers<T>& n) {
  return first / n.first_bias / (std::sqrt(second) / n.second_bias + n.eps) + n.gradient_decay * w;
}

// One value: w the weight, g its gradient, first and second its state (momentum; or the two moments).
template <UpdateRule kRule, class T>
TSR_HOST_DEVICE void update_value(T& w, T g, T& first, T& second, const RunNumbers<T>& n) {
  if constexpr (kRule == UpdateRule::kLamb) {
    w = w - n.lr * lamb_update(w, first, second, n);
    return;
  }
  const T d = n.factor * g + n.gradient_decay * w;
  if constexpr (kRule == UpdateRule::kSgd) {
    w = n.shrink * w - n.lr * d;
  } else if constexpr (kRule == UpdateRule::kAdam) {
    move_moments(d, first, second, n);
    w = n.shrink * w - n.lr * (first / (std::sqrt(second) / n.second_bias + n.eps));
  } else {
    first = n.momentum * first + d;
    w = n.shrink * w - n.lr * (kRule == UpdateRule::kNesterov ? d + n.momentum * first : first);
  }
}

// The moving average after a step. In this form weights that stand still leave it as it is.
template <class T>
TSR_HOST_DEVICE void average_value(T& average, T w, const RunNumbers<T>& n) {
  average = average + n.average_share * (w - average);
}

// Which of the arenas a rule's step reads and changes.
constexpr bool reads_gradients(UpdateRule rule) {
  return rule != UpdateRule::kLamb;
}
constexpr int64_t num_states(UpdateRule rule) {
  return rule == UpdateRule::kSgd ? 0 : rule == UpdateRule::kAdam || rule == UpdateRule::kLamb ? 2 : 1;
}
constexpr bool changes_states(UpdateRule rule) {
  return rule != UpdateRule::kLamb;
}

}  // namespace tessera
