#include "kernels/update/optimizer_step.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/update/step_arguments.h"
#include "tensor/parallel_for.h"

namespace tessera {
namespace {

// Below this many values a thread is not worth waking.
constexpr int64_t kGrain = 1 << 15;
// Values that stay in the nearest cache while the average and the copies follow the weights.
constexpr int64_t kBlock = 1 << 11;
// Values of a chunk of RangeTable.
constexpr int64_t kChunk = 1 << 14;

template <UpdateRule kRule, class T>
void update_loop(T* __restrict w, const T* __restrict g, T* __restrict first, T* __restrict second, int64_t begin, int64_t end,
                 const RangeNumbers<T> n) {
  T none = 0;
  for (int64_t i = begin; i < end; ++i) {
    update_value<kRule>(w[i], reads_gradients(kRule) ? g[i] : none, num_states(kRule) > 0 ? first[i] : none,
                        num_states(kRule) > 1 ? second[i] : none, n);
  }
}

template <class T>
void average_loop(T* __restrict average, const T* __restrict w, int64_t begin, int64_t end, const RangeNumbers<T> n) {
  for (int64_t i = begin; i < end; ++i) average_value(average[i], w[i], n);
}

template <class T>
void copy_loop(const at::Tensor& copies, const T* __restrict w, int64_t begin, int64_t end) {
  AT_DISPATCH_REDUCED_FLOATING_TYPES(copies.scalar_type(), "optimizer_step", [&] {
    scalar_t* __restrict to = copies.mutable_data_ptr<scalar_t>();
    for (int64_t i = begin; i < end; ++i) to[i] = static_cast<scalar_t>(static_cast<float>(w[i]));
  });
}

template <UpdateRule kRule, class T>
void update_arena(const ArenaPointers<T>& a, int64_t numel, const at::Tensor* copies, const RangePointers& ranges,
                  double clip_factor, bool skips, const StepNumbers& numbers) {
  const RangeBounds* const last = ranges.bounds + ranges.count;
  // Threads share out the arena, not the ranges: most ranges are a norm layer's few values.
  parallel_for(0, numel, kGrain, [&](int64_t begin, int64_t end) {
    const RangeBounds* range = std::partition_point(ranges.bounds, last, [&](const RangeBounds& r) { return r.end <= begin; });
    for (; range != last && range->begin < end; ++range) {
      const RangeNumbers<T> n = numbers_of_range<kRule, T>(ranges, range - ranges.bounds, numbers, clip_factor);
      const int64_t range_end = std::min(range->end, end);
      for (int64_t from = std::max(range->begin, begin); from < range_end; from += kBlock) {
        const int64_t to = std::min(from + kBlock, range_end);
        if (!skips) update_loop<kRule>(a.w, a.g, a.first, a.second, from, to, n);
        if (!skips && a.average != nullptr) average_loop(a.average, a.w, from, to, n);
        if (copies != nullptr) copy_loop(*copies, a.w, from, to);
      }
    }
  });
}

void optimizer_step_cpu(at::Tensor params, const at::Tensor& grads, at::TensorList state,
                        const std::optional<at::Tensor>& average, const std::optional<at::Tensor>& copies,
                        const at::Tensor& bounds, const at::Tensor& rates, const std::optional<at::Tensor>& norms,
                        const std::optional<at::Tensor>& clip_factor, const std::optional<at::Tensor>& scaling, int64_t rule,
                        at::ArrayRef<double> numbers) {
  const double scale = clip_factor ? *number_pointer(clip_factor) : 1.0;
  const LossScaling* const counted = scaling_pointer(scaling);
  StepNumbers step = from_list(numbers);
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "optimizer_step", [&] {
    with_rule(rule, [&](auto chosen) {
      constexpr UpdateRule kRule = decltype(chosen)::value;
      if (counted != nullptr && num_states(kRule) == 2) set_biases(step, counted->applied_steps);
      update_arena<kRule>(arena_pointers<scalar_t>(params, grads, state, average), params.numel(),
                          copies ? &copies.value() : nullptr, range_pointers(bounds, rates, norms), scale,
                          skips_step(scale, counted), step);
    });
  });
}

std::optional<at::Tensor> if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? std::optional(tensor) : std::nullopt;
}

}  // namespace

RangeTable make_range_table(const std::vector<std::pair<int64_t, int64_t>>& bounds, const std::vector<RangeRates>& rates,
                            at::Device device) {
  TSR_CHECK(bounds.size() == rates.size(), "{} ranges have {} rows of rates", bounds.size(), rates.size());
  const auto count = static_cast<int64_t>(bounds.size());
  const at::Tensor places = at::empty({count, 2}, at::kLong), numbers = at::empty({count, kRangeRates}, at::kDouble);
  auto* const place = reinterpret_cast<RangeBounds*>(places.mutable_data_ptr<int64_t>());
  std::transform(bounds.begin(), bounds.end(), place, [](const auto& pair) { return RangeBounds{pair.first, pair.second}; });
  std::copy(rates.begin(), rates.end(), reinterpret_cast<RangeRates*>(numbers.mutable_data_ptr<double>()));
  std::vector<RangeChunk> parts;
  for (int64_t range = 0; range < count; ++range) {
    for (int64_t begin = place[range].begin; begin < place[range].end; begin += kChunk)
      parts.push_back({range, begin, std::min(begin + kChunk, place[range].end)});
  }
  const at::Tensor chunks = at::empty({static_cast<int64_t>(parts.size()), 3}, at::kLong);
  std::copy(parts.begin(), parts.end(), reinterpret_cast<RangeChunk*>(chunks.mutable_data_ptr<int64_t>()));
  return {places.to(device), numbers.to(device), chunks.to(device)};
}

void optimizer_step(const StepArenas& arenas, const RangeTable& ranges, const GradientScale& scale, UpdateRule rule,
                    const StepNumbers& numbers, const at::Tensor& norms) {
  const auto kept = static_cast<size_t>(num_states(rule));
  TSR_CHECK(arenas.state.size() == kept, "expected {} arenas of optimizer state, got {}", kept, arenas.state.size());
  TSR_CHECK(!needs_norms(rule) || (norms.defined() && norms.size(0) == ranges.bounds.size(0)),
            "a step of lamb or lars needs the norms of its {} ranges", ranges.bounds.size(0));
  static const auto op = find_op<decltype(optimizer_step_cpu)>("tessera::optimizer_step");
  if (ranges.bounds.size(0) == 0) return;
  op.call(arenas.params, arenas.grads, arenas.state, if_defined(arenas.average), if_defined(arenas.copies), ranges.bounds,
          ranges.rates, if_defined(norms), if_defined(scale.clip_factor), if_defined(scale.scaling), static_cast<int64_t>(rule),
          to_list(numbers));
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def(
      "optimizer_step(Tensor(a!) params, Tensor grads, Tensor(b!)[] state, Tensor(c!)? average, Tensor(d!)? copies, Tensor "
      "bounds, Tensor rates, Tensor? norms, Tensor? clip_factor, Tensor? scaling, int rule, float[] numbers) -> ()");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("optimizer_step", optimizer_step_cpu);
}

}  // namespace tessera
