#pragma once
#include <cmath>
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

// How an optimizer step changes one value, as the CPU's loop and the GPU's kernel both have it.
enum class UpdateRule : int64_t { kSgd, kMomentum, kNesterov, kAdam, kLamb, kLars, kLion };

// The rates of a range of parameters. They never change, so they lie on the device as a row of a table.
struct RangeRates {
  double lr_scale = 1;           // multiplies StepNumbers::lr
  double l2_decay = 0;           // this times the weight is added to the gradient (lamb: to the update)
  double decoupled_decay = 0;    // multiplies StepNumbers::decay; w *= 1 - product
  bool use_trust_ratio = false;  // lamb, lars: lengths go by those of the weights, see trust_ratio
  // What a schedule ends at is a rate of its own, not a multiple of another's: these two times StepNumbers::final_weight are
  // added to the products of lr_scale and decoupled_decay.
  double final_lr = 0;
  double final_decay = 0;
  double begun_after = 0;  // steps of the optimizer before the range's moments began; their biases count from there
};

// The numbers of one step, which go to the kernel as an argument.
struct StepNumbers {
  double lr = 0;
  double decay = 0;         // of weights, decoupled from the gradient
  double final_weight = 0;  // of the rates that the schedule ends at
  double momentum = 0;      // adam, lamb, lion: beta 1
  double beta2 = 0, eps = 0;
  double trust_coefficient = 0;            // lars
  double first_bias = 1, second_bias = 1;  // the moments start at 0; dividing by these undoes the bias of that towards 0
  double average_weight = 0;               // of the new parameters in the moving average
  double steps = 0;                        // of the optimizer, with this one: what the biases follow from
};

TSR_HOST_DEVICE void set_biases(StepNumbers& numbers, double steps) {
  numbers.steps = steps;
  numbers.first_bias = 1 - std::pow(numbers.momentum, steps);
  numbers.second_bias = std::sqrt(1 - std::pow(numbers.beta2, steps));
}

// The numbers of a range whose moments are younger than the others'. Where steps were skipped it may have begun a few later
// than was planned.
TSR_HOST_DEVICE StepNumbers with_own_biases(StepNumbers step, const RangeRates& rates) {
  const double own = step.steps - rates.begun_after;
  if (rates.begun_after > 0 && step.steps > 0) set_biases(step, own > 1 ? own : 1);
  return step;
}

// A range's learning rate in a step, and the fraction that its weights lose.
TSR_HOST_DEVICE double range_lr(const StepNumbers& step, const RangeRates& rates) {
  return step.lr * rates.lr_scale + step.final_weight * rates.final_lr;
}
TSR_HOST_DEVICE double range_decay(const StepNumbers& step, const RangeRates& rates) {
  return step.decay * rates.decoupled_decay + step.final_weight * rates.final_decay;
}

// A step's numbers for one range, in the type of the arena.
template <class T>
struct RangeNumbers {
  T lr, l2_decay;
  T keep;         // 1 - range_decay: multiplies the weight
  T clip_factor;  // multiplies the gradient before anything else
  T momentum, one_minus_momentum, beta2, one_minus_beta2, first_bias, second_bias, eps;
  T average_weight;
};

// trust: the trust ratio of lamb or lars.
template <UpdateRule kRule, class T>
TSR_HOST_DEVICE RangeNumbers<T> range_numbers(const StepNumbers& numbers, const RangeRates& rates, double clip_factor,
                                              double trust = 1) {
  const StepNumbers step = with_own_biases(numbers, rates);
  const double lr = range_lr(step, rates);
  return {static_cast<T>(kRule == UpdateRule::kLamb ? lr * trust : lr / step.first_bias),
          static_cast<T>(kRule == UpdateRule::kLars ? rates.l2_decay * trust : rates.l2_decay),
          static_cast<T>(1 - range_decay(step, rates)),
          static_cast<T>(kRule == UpdateRule::kLars ? clip_factor * trust : clip_factor),
          static_cast<T>(step.momentum),
          static_cast<T>(1 - step.momentum),
          static_cast<T>(step.beta2),
          static_cast<T>(1 - step.beta2),
          static_cast<T>(step.first_bias),
          static_cast<T>(step.second_bias),
          static_cast<T>(step.eps),
          static_cast<T>(step.average_weight)};
}

// Note [LAMB]
// You et al., "Large batch optimization for deep learning" (2020). A tensor's update is Adam's plus decay * weight, and its
// length is made that of the weights: times trust = |w| / |u|. So the moments and both lengths of whole tensors come first
// (trust_norms), then the step (optimizer_step), which makes the update again from the moments: as much traffic as keeping it,
// and no arena for it.
//
// Note [LARS]
// You et al., "Large batch training of convolutional networks" (2017). A tensor's gradient g, with decay * weight added, goes
// into the momentum times trust = coefficient * |w| / (|g| + decay * |w| + eps). As timm and NVIDIA have it, the learning rate
// multiplies the momentum when a step is made of it, not the gradient that goes in. Both lengths come first (trust_norms), then
// the step.
template <UpdateRule kRule>
TSR_HOST_DEVICE double trust_ratio(double weight_squares, double update_squares, const RangeRates& rates,
                                   const StepNumbers& step) {
  if (!(rates.use_trust_ratio && weight_squares > 0 && update_squares > 0)) return 1.0;
  if constexpr (kRule == UpdateRule::kLamb) return std::sqrt(weight_squares / update_squares);
  const double length = std::sqrt(weight_squares);
  return step.trust_coefficient * length / (std::sqrt(update_squares) + rates.l2_decay * length + step.eps);
}
template <class T>
TSR_HOST_DEVICE void move_moments(T d, T& first, T& second, const RangeNumbers<T>& n) {
  first = first + n.one_minus_momentum * (d - first);
  second = n.beta2 * second + n.one_minus_beta2 * d * d;
}
template <class T>
TSR_HOST_DEVICE T lamb_update(T w, T first, T second, const RangeNumbers<T>& n) {
  return first / n.first_bias / (std::sqrt(second) / n.second_bias + n.eps) + n.l2_decay * w;
}

// Updates one value: w is the weight, g its gradient, first and second its state (momentum; or the two moments). lion (Chen et
// al., "Symbolic discovery of optimization algorithms", 2023) steps by the sign of the momentum with this gradient in it, and
// then moves the momentum at another rate.
template <UpdateRule kRule, class T>
TSR_HOST_DEVICE void update_value(T& w, T g, T& first, T& second, const RangeNumbers<T>& n) {
  if constexpr (kRule == UpdateRule::kLamb) {
    w = w - n.lr * lamb_update(w, first, second, n);
    return;
  }
  const T d = n.clip_factor * g + n.l2_decay * w;
  if constexpr (kRule == UpdateRule::kSgd) {
    w = n.keep * w - n.lr * d;
  } else if constexpr (kRule == UpdateRule::kAdam) {
    move_moments(d, first, second, n);
    w = n.keep * w - n.lr * (first / (std::sqrt(second) / n.second_bias + n.eps));
  } else if constexpr (kRule == UpdateRule::kLion) {
    const T mixed = first + n.one_minus_momentum * (d - first);
    w = n.keep * w - n.lr * static_cast<T>((mixed > 0) - (mixed < 0));
    first = first + n.one_minus_beta2 * (d - first);
  } else {
    first = n.momentum * first + d;
    w = n.keep * w - n.lr * (kRule == UpdateRule::kNesterov ? d + n.momentum * first : first);
  }
}

// The moving average after a step. In this form weights that stand still leave it as it is.
template <class T>
TSR_HOST_DEVICE void average_value(T& average, T w, const RangeNumbers<T>& n) {
  average = average + n.average_weight * (w - average);
}

// Which of the arenas a rule's step reads and changes.
constexpr bool needs_norms(UpdateRule rule) {
  return rule == UpdateRule::kLamb || rule == UpdateRule::kLars;
}
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
