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

template <class T>
Squares chunk_squares(const ArenaPointers<T>& a, const RangeChunk& chunk, const RangeNumbers<T>& n) {
  Squares sum;
  for (int64_t i = chunk.begin; i < chunk.end; ++i) {
    move_moments(n.clip_factor * a.g[i], a.first[i], a.second[i], n);
    const auto w = static_cast<double>(a.w[i]), u = static_cast<double>(lamb_update(a.w[i], a.first[i], a.second[i], n));
    sum.weights += w * w;
    sum.updates += u * u;
  }
  return sum;
}

at::Tensor lamb_norms_cpu(const at::Tensor& params, const at::Tensor& grads, at::TensorList state, const at::Tensor& rates,
                          const at::Tensor& chunks, const std::optional<at::Tensor>& clip_factor,
                          const std::optional<at::Tensor>& scaling, at::ArrayRef<double> numbers) {
  const at::Tensor norms = at::zeros({rates.size(0), 2}, at::kDouble);
  const double scale = clip_factor ? *number_pointer(clip_factor) : 1.0;
  const LossScaling* const counted = scaling_pointer(scaling);
  if (skips_step(scale, counted)) return norms;
  StepNumbers step = from_list(numbers);
  if (counted != nullptr) set_biases(step, counted->applied_steps);
  const auto* const parts = reinterpret_cast<const RangeChunk*>(chunks.const_data_ptr<int64_t>());
  const auto* const range_rates = reinterpret_cast<const RangeRates*>(rates.const_data_ptr<double>());
  std::vector<Squares> sums(static_cast<size_t>(chunks.size(0)));
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "lamb_norms", [&] {
    const auto arenas = arena_pointers<scalar_t>(params, grads, state, std::nullopt);
    parallel_for(0, chunks.size(0), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        sums[static_cast<size_t>(i)] = chunk_squares(
            arenas, parts[i], range_numbers<UpdateRule::kLamb, scalar_t>(step, range_rates[parts[i].range], scale));
    });
  });
  auto* const totals = norms.mutable_data_ptr<double>();
  for (size_t i = 0; i < sums.size(); ++i) {
    totals[2 * parts[i].range] += sums[i].weights;
    totals[2 * parts[i].range + 1] += sums[i].updates;
  }
  return norms;
}

}  // namespace

at::Tensor lamb_norms(const StepArenas& arenas, const RangeTable& ranges, const GradientScale& scale,
                      const StepNumbers& numbers) {
  TSR_CHECK(arenas.state.size() == 2, "lamb has 2 arenas of state, got {}", arenas.state.size());
  static const auto op = find_op<decltype(lamb_norms_cpu)>("tessera::lamb_norms");
  const auto if_defined = [](const at::Tensor& t) { return t.defined() ? std::optional(t) : std::nullopt; };
  if (ranges.bounds.size(0) == 0) return at::zeros({0, 2}, arenas.params.options().dtype(at::kDouble));
  return op.call(arenas.params, arenas.grads, arenas.state, ranges.rates, ranges.chunks, if_defined(scale.clip_factor),
                 if_defined(scale.scaling), to_list(numbers));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "lamb_norms(Tensor params, Tensor grads, Tensor(a!)[] state, Tensor rates, Tensor chunks, Tensor? clip_factor, Tensor? "
      "scaling, float[] numbers) -> Tensor");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("lamb_norms", lamb_norms_cpu);
}

}  // namespace tessera
