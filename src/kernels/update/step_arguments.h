#pragma once
#include <ATen/core/Tensor.h>

#include <cmath>
#include <optional>

#include "kernels/update/loss_scaling.h"
#include "kernels/update/step_numbers.h"

// What the ops optimizer_step and lamb_norms make of their tensors.
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

// The tables of RunTable, and the norms of lamb_norms where there are any.
struct RunPointers {
  const RunBounds* bounds;
  const RunRates* rates;
  const double* norms;
  int count;
};

inline RunPointers run_pointers(const at::Tensor& bounds, const at::Tensor& rates, const std::optional<at::Tensor>& norms) {
  return {reinterpret_cast<const RunBounds*>(bounds.const_data_ptr<int64_t>()),
          reinterpret_cast<const RunRates*>(rates.const_data_ptr<double>()), norms ? norms->const_data_ptr<double>() : nullptr,
          static_cast<int>(bounds.size(0))};
}

inline const double* number_pointer(const std::optional<at::Tensor>& factor) {
  return factor ? factor->const_data_ptr<double>() : nullptr;
}
inline const LossScaling* scaling_pointer(const std::optional<at::Tensor>& scaling) {
  return scaling ? reinterpret_cast<const LossScaling*>(scaling->const_data_ptr<double>()) : nullptr;
}

template <UpdateRule kRule, class T>
TSR_HOST_DEVICE RunNumbers<T> numbers_of_run(const RunPointers& runs, int64_t run, const StepNumbers& step, double factor) {
  double trust = 1;
  if constexpr (kRule == UpdateRule::kLamb)
    trust = trust_ratio(runs.norms[2 * run], runs.norms[2 * run + 1], runs.rates[run].adapts);
  return run_numbers<kRule, T>(step, runs.rates[run], factor, trust);
}

// See GradientScale.
TSR_HOST_DEVICE bool skips_step(double factor, const LossScaling* scaling) {
  return scaling != nullptr && !(factor - factor == 0);
}

}  // namespace tessera
