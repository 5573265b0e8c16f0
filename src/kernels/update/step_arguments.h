#pragma once
#include <ATen/core/Tensor.h>

#include <cmath>
#include <optional>

#include "kernels/update/loss_scaling.h"
#include "kernels/update/step_numbers.h"

// The tensors of the ops optimizer_step and trust_norms as pointers.
namespace tessera {

template <class T>
struct ArenaPointers {
  T* w;
  const T* g;
  T *first, *second, *average;
};

template <class T>
ArenaPointers<T> arena_pointers(const at::Tensor& params, const at::Tensor& grads, at::TensorList state,
                                const std::optional<at::Tensor>& average) {
  return {params.mutable_data_ptr<T>(), grads.const_data_ptr<T>(), !state.empty() ? state[0].mutable_data_ptr<T>() : nullptr,
          state.size() > 1 ? state[1].mutable_data_ptr<T>() : nullptr, average ? average->mutable_data_ptr<T>() : nullptr};
}

// The tables of RangeTable, and the norms of trust_norms where there are any.
struct RangePointers {
  const RangeBounds* bounds;
  const RangeRates* rates;
  const double* norms;
  int count;
};

inline RangePointers range_pointers(const at::Tensor& bounds, const at::Tensor& rates, const std::optional<at::Tensor>& norms) {
  return {reinterpret_cast<const RangeBounds*>(bounds.const_data_ptr<int64_t>()),
          reinterpret_cast<const RangeRates*>(rates.const_data_ptr<double>()),
          norms ? norms->const_data_ptr<double>() : nullptr, static_cast<int>(bounds.size(0))};
}

inline const double* number_pointer(const std::optional<at::Tensor>& clip_factor) {
  return clip_factor ? clip_factor->const_data_ptr<double>() : nullptr;
}
inline const LossScaling* scaling_pointer(const std::optional<at::Tensor>& scaling) {
  return scaling ? reinterpret_cast<const LossScaling*>(scaling->const_data_ptr<double>()) : nullptr;
}

template <UpdateRule kRule, class T>
TSR_HOST_DEVICE RangeNumbers<T> numbers_of_range(const RangePointers& ranges, int64_t range, const StepNumbers& step,
                                                 double clip_factor) {
  double trust = 1;
  if constexpr (needs_norms(kRule))
    trust = trust_ratio<kRule>(ranges.norms[2 * range], ranges.norms[2 * range + 1], ranges.rates[range], step);
  return range_numbers<kRule, T>(step, ranges.rates[range], clip_factor, trust);
}

// See GradientScale.
TSR_HOST_DEVICE bool skips_step(double clip_factor, const LossScaling* scaling) {
  return scaling != nullptr && !(clip_factor - clip_factor == 0);
}

}  // namespace tessera
