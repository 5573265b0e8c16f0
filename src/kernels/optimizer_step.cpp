#include "kernels/optimizer_step.h"

#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/step_numbers.h"

namespace tessera {
namespace {

// Below this many values a thread is not worth waking.
constexpr int64_t kGrain = 1 << 15;

template <UpdateRule kRule, class T>
void update_loop(T* __restrict w, const T* __restrict g, T* __restrict first, T* __restrict second, int64_t begin, int64_t end,
                 const RunNumbers<T> n) {
  T none = 0;
  for (int64_t i = begin; i < end; ++i) {
    update_value<kRule>(w[i], g[i], kRule == UpdateRule::kSgd ? none : first[i], kRule == UpdateRule::kAdam ? second[i] : none,
                        n);
  }
}

template <UpdateRule kRule, class T>
void update_arena(at::Tensor& params, const at::Tensor& grads, at::TensorList state, const at::Tensor& bounds,
                  const at::Tensor& rates, double factor, const StepNumbers& numbers) {
  T* const w = params.mutable_data_ptr<T>();
  const T* const g = grads.const_data_ptr<T>();
  T* const first = !state.empty() ? state[0].mutable_data_ptr<T>() : nullptr;
  T* const second = state.size() > 1 ? state[1].mutable_data_ptr<T>() : nullptr;
  const auto* const runs = reinterpret_cast<const RunBounds*>(bounds.const_data_ptr<int64_t>());
  const auto* const run_rates = reinterpret_cast<const RunRates*>(rates.const_data_ptr<double>());
  const RunBounds* const last = runs + bounds.size(0);
  // Threads share out the arena, not the runs: most runs are a norm layer's few values.
  at::parallel_for(0, params.numel(), kGrain, [&](int64_t begin, int64_t end) {
    const RunBounds* run = std::partition_point(runs, last, [&](const RunBounds& r) { return r.end <= begin; });
    for (; run != last && run->begin < end; ++run) {
      update_loop<kRule>(w, g, first, second, std::max(run->begin, begin), std::min(run->end, end),
                         run_numbers<T>(numbers, run_rates[run - runs], factor));
    }
  });
}

void optimizer_step_cpu(at::Tensor params, const at::Tensor& grads, at::TensorList state, const at::Tensor& bounds,
                        const at::Tensor& rates, const std::optional<at::Tensor>& factor, int64_t rule,
                        at::ArrayRef<double> numbers) {
  const double scale = factor ? *factor->const_data_ptr<double>() : 1.0;
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "optimizer_step", [&] {
    with_rule(rule, [&](auto chosen) {
      update_arena<decltype(chosen)::value, scalar_t>(params, grads, state, bounds, rates, scale, from_list(numbers));
    });
  });
}

}  // namespace

RunTable make_run_table(const std::vector<std::pair<int64_t, int64_t>>& bounds, const std::vector<RunRates>& rates,
                        at::Device device) {
  TSR_CHECK(bounds.size() == rates.size(), "{} runs have {} rows of rates", bounds.size(), rates.size());
  const auto count = static_cast<int64_t>(bounds.size());
  const at::Tensor places = at::empty({count, 2}, at::kLong), numbers = at::empty({count, 3}, at::kDouble);
  auto* const place = reinterpret_cast<RunBounds*>(places.mutable_data_ptr<int64_t>());
  std::transform(bounds.begin(), bounds.end(), place, [](const auto& pair) { return RunBounds{pair.first, pair.second}; });
  std::copy(rates.begin(), rates.end(), reinterpret_cast<RunRates*>(numbers.mutable_data_ptr<double>()));
  return {places.to(device), numbers.to(device)};
}

void optimizer_step(at::Tensor& params, const at::Tensor& grads, const std::vector<at::Tensor>& state, const RunTable& runs,
                    const at::Tensor& factor, UpdateRule rule, const StepNumbers& numbers) {
  const size_t kept = rule == UpdateRule::kSgd ? 0 : rule == UpdateRule::kAdam ? 2 : 1;
  TSR_CHECK(state.size() == kept, "expected {} arenas of optimizer state, got {}", kept, state.size());
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("tessera::optimizer_step", "")
                             .typed<void(at::Tensor, const at::Tensor&, at::TensorList, const at::Tensor&, const at::Tensor&,
                                         const std::optional<at::Tensor>&, int64_t, at::ArrayRef<double>)>();
  if (runs.bounds.size(0) == 0) return;
  op.call(params, grads, state, runs.bounds, runs.rates, factor.defined() ? std::optional(factor) : std::nullopt,
          static_cast<int64_t>(rule), to_list(numbers));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "optimizer_step(Tensor(a!) params, Tensor grads, Tensor(b!)[] state, Tensor bounds, Tensor rates, Tensor? factor, int "
      "rule, float[] numbers) -> ()");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("optimizer_step", optimizer_step_cpu);
}

}  // namespace tessera
