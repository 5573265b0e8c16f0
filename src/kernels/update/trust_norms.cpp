#include <ATen/Dispatch.h>
#include <ATen/ops/zeros.h>
#include <torch/library.h>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/update/optimizer_step.h"
#include "kernels/update/step_arguments.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

struct Squares {
  double weights = 0, updates = 0;
};

template <UpdateRule kRule, class T>
Squares chunk_squares(const ArenaPointers<T>& a, const RangeChunk& chunk, const RangeNumbers<T>& n) {
  Squares sum;
  for (int64_t i = chunk.begin; i < chunk.end; ++i) {
    T update = n.clip_factor * a.g[i];
    if constexpr (kRule == UpdateRule::kLamb) {
      move_moments(update, a.first[i], a.second[i], n);
      update = lamb_update(a.w[i], a.first[i], a.second[i], n);
    }
    const auto w = static_cast<double>(a.w[i]), u = static_cast<double>(update);
    sum.weights += w * w;
    sum.updates += u * u;
  }
  return sum;
}

at::Tensor trust_norms_cpu(const at::Tensor& params, const at::Tensor& grads, at::TensorList state, const at::Tensor& rates,
                           const at::Tensor& chunks, const std::optional<at::Tensor>& clip_factor,
                           const std::optional<at::Tensor>& scaling, int64_t rule, at::ArrayRef<double> numbers) {
  const at::Tensor norms = at::zeros({rates.size(0), 2}, at::kDouble);
  const double scale = clip_factor ? *number_pointer(clip_factor) : 1.0;
  const LossScaling* const counted = scaling_pointer(scaling);
  if (skips_step(scale, counted)) return norms;
  StepNumbers step = from_list(numbers);
  const bool lamb = static_cast<UpdateRule>(rule) == UpdateRule::kLamb;
  if (counted != nullptr && lamb) set_biases(step, counted->applied_steps);
  const auto* const parts = reinterpret_cast<const RangeChunk*>(chunks.const_data_ptr<int64_t>());
  const auto* const range_rates = reinterpret_cast<const RangeRates*>(rates.const_data_ptr<double>());
  std::vector<Squares> sums(static_cast<size_t>(chunks.size(0)));
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "trust_norms", [&] {
    const auto arenas = arena_pointers<scalar_t>(params, grads, state, std::nullopt);
    const auto sum_up = [&]<UpdateRule kRule>() {
      parallel_for(0, chunks.size(0), 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          sums[static_cast<size_t>(i)] =
              chunk_squares<kRule>(arenas, parts[i], range_numbers<kRule, scalar_t>(step, range_rates[parts[i].range], scale));
      });
    };
    if (lamb) {
      sum_up.template operator()<UpdateRule::kLamb>();
    } else {
      sum_up.template operator()<UpdateRule::kLars>();
    }
  });
  auto* const totals = norms.mutable_data_ptr<double>();
  for (size_t i = 0; i < sums.size(); ++i) {
    totals[2 * parts[i].range] += sums[i].weights;
    totals[2 * parts[i].range + 1] += sums[i].updates;
  }
  return norms;
}

}  // namespace

at::Tensor trust_norms(const StepArenas& arenas, const RangeTable& ranges, const GradientScale& scale, UpdateRule rule,
                       const StepNumbers& numbers) {
  const auto kept = static_cast<size_t>(num_states(rule));
  TSR_CHECK(needs_norms(rule) && arenas.state.size() == kept,
            "expected a rule with a trust ratio and its {} arenas of state, got {}", kept, arenas.state.size());
  static const auto op = find_op<decltype(trust_norms_cpu)>("tessera::trust_norms");
  const auto if_defined = [](const at::Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; };
  if (ranges.bounds.size(0) == 0) return at::zeros({0, 2}, arenas.params.options().dtype(at::kDouble));
  return op.call(arenas.params, arenas.grads, arenas.state, ranges.rates, ranges.chunks, if_defined(scale.clip_factor),
                 if_defined(scale.scaling), static_cast<int64_t>(rule), to_list(numbers));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "trust_norms(Tensor params, Tensor grads, Tensor(a!)[] state, Tensor rates, Tensor chunks, Tensor? clip_factor, Tensor? "
      "scaling, int rule, float[] numbers) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("trust_norms", trust_norms_cpu);
}

}  // namespace tessera
