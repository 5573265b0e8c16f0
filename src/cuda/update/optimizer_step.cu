#include <ATen/Dispatch.h>

#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "cuda/update/step_biases.h"
#include "kernels/update/step_arguments.h"

namespace tessera {
namespace {

constexpr int kUpdateThreads = 256;
constexpr int kRounds = 4;  // vectors that each thread updates

// Where the weights' half-precision copies go: at most one of them.
struct Copies {
  c10::BFloat16* bf16;
  c10::Half* half;
};

template <int kCount, class T>
__device__ __forceinline__ void write_copies(const Copies& copies, int64_t at, const Pack<T, kCount>& w) {
  const auto write = [&](auto* to) {
    using Half = std::remove_pointer_t<decltype(to)>;
    Pack<Half, kCount> pack;
    for (int i = 0; i < kCount; ++i) pack.value[i] = static_cast<Half>(static_cast<float>(w.value[i]));
    store_pack(to + at, pack);
  };
  if (copies.bf16 != nullptr) write(copies.bf16);
  if (copies.half != nullptr) write(copies.half);
}

// The first range in [low, high) that ends behind `place`, or `high`.
__device__ __forceinline__ int find_range(const RangeBounds* bounds, int low, int high, int64_t place) {
  while (low < high) {
    const int middle = (low + high) / 2;
    if (bounds[middle].end <= place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// kCount neighbours; where that is more than 1 they begin on a vector's boundary.
template <UpdateRule kRule, int kCount, class T>
__device__ __forceinline__ void update_pack(const ArenaPointers<T>& a, const Copies& copies, int64_t at, bool skips,
                                            const RangeNumbers<T>& n) {
  Pack<T, kCount> w = load_pack<kCount>(a.w + at);
  if (!skips) {
    Pack<T, kCount> g{}, first{}, second{};
    if constexpr (reads_gradients(kRule)) g = load_pack<kCount>(a.g + at);
    if constexpr (num_states(kRule) > 0) first = load_pack<kCount>(a.first + at);
    if constexpr (num_states(kRule) > 1) second = load_pack<kCount>(a.second + at);
    for (int i = 0; i < kCount; ++i) update_value<kRule>(w.value[i], g.value[i], first.value[i], second.value[i], n);
    store_pack(a.w + at, w);
    if constexpr (changes_states(kRule) && num_states(kRule) > 0) store_pack(a.first + at, first);
    if constexpr (changes_states(kRule) && num_states(kRule) > 1) store_pack(a.second + at, second);
  }
  if (!skips && a.average != nullptr) {
    Pack<T, kCount> average = load_pack<kCount>(a.average + at);
    for (int i = 0; i < kCount; ++i) average_value(average.value[i], w.value[i], n);
    store_pack(a.average + at, average);
  }
  write_copies(copies, at, w);
}

// A block updates a stretch of the arena, each thread some vectors of it. Traffic per float32 value: 20 bytes with momentum
// (weight and momentum both ways, gradient), 28 with Adam, 16 with LAMB (behind trust_norms); 8 more with an average, 2 with
// copies.
template <UpdateRule kRule, class T>
__global__ void __launch_bounds__(kUpdateThreads)
    optimizer_kernel(ArenaPointers<T> arenas, Copies copies, int64_t numel, bool aligned, RangePointers ranges,
                     const double* clip_factor, const LossScaling* scaling, StepNumbers numbers) {
  constexpr int kSize = Pack<T>::kSize, kStretch = kUpdateThreads * kRounds * kSize;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kStretch;
  if constexpr (num_states(kRule) == 2) take_biases(numbers, scaling);
  // Most stretches lie in one range: the block finds the first and the last of its ranges, a thread only looks between them.
  const int first = find_range(ranges.bounds, 0, ranges.count, begin);
  const int last = find_range(ranges.bounds, first, ranges.count, begin + kStretch - 1);
  const double scale = clip_factor != nullptr ? *clip_factor : 1.0;
  const bool skips = skips_step(scale, scaling);
  int known = -1;
  RangeNumbers<T> n{};
  const auto select = [&](int range) {
    if (range != known) n = numbers_of_range<kRule, T>(ranges, range, numbers, scale);
    known = range;
  };
  for (int round = 0; round < kRounds; ++round) {
    const int64_t at = begin + (static_cast<int64_t>(round) * kUpdateThreads + threadIdx.x) * kSize;
    if (at >= numel) return;
    int range = find_range(ranges.bounds, first, last, at);
    if (range >= ranges.count) return;
    if (aligned && ranges.bounds[range].begin <= at && at + kSize <= ranges.bounds[range].end) {
      select(range);
      update_pack<kRule, kSize>(arenas, copies, at, skips, n);
      continue;
    }
    for (int64_t i = at; i < at + kSize; ++i) {
      while (range < ranges.count && ranges.bounds[range].end <= i) ++range;
      if (range >= ranges.count) return;
      if (i < ranges.bounds[range].begin) continue;
      select(range);
      update_pack<kRule, 1>(arenas, copies, i, skips, n);
    }
  }
}

Copies copy_pointers(const std::optional<at::Tensor>& copies) {
  if (!copies) return {};
  if (copies->scalar_type() == at::kHalf) return {nullptr, copies->mutable_data_ptr<c10::Half>()};
  return {copies->mutable_data_ptr<c10::BFloat16>(), nullptr};
}

void optimizer_step_cuda(at::Tensor params, const at::Tensor& grads, at::TensorList state,
                         const std::optional<at::Tensor>& average, const std::optional<at::Tensor>& copies,
                         const at::Tensor& bounds, const at::Tensor& rates, const std::optional<at::Tensor>& norms,
                         const std::optional<at::Tensor>& clip_factor, const std::optional<at::Tensor>& scaling, int64_t rule,
                         at::ArrayRef<double> numbers) {
  const DeviceGuard guard(params.device());
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "optimizer_step", [&] {
    const auto arenas = arena_pointers<scalar_t>(params, grads, state, average);
    const Copies written = copy_pointers(copies);
    constexpr size_t kCopyBytes = 2 * Pack<scalar_t>::kSize;
    const bool aligned = is_aligned(arenas.w) && is_aligned(arenas.g) && is_aligned(arenas.first) &&
                         is_aligned(arenas.second) && is_aligned(arenas.average) && is_aligned(written.bf16, kCopyBytes) &&
                         is_aligned(written.half, kCopyBytes);
    constexpr int64_t kStretch = kUpdateThreads * kRounds * Pack<scalar_t>::kSize;
    with_rule(rule, [&](auto chosen) {
      launch(optimizer_kernel<decltype(chosen)::value, scalar_t>, blocks_for(params.numel(), kStretch), kUpdateThreads, 0,
             arenas, written, params.numel(), aligned, range_pointers(bounds, rates, norms), number_pointer(clip_factor),
             scaling_pointer(scaling), from_list(numbers));
    });
  });
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("optimizer_step", optimizer_step_cuda);
}

}  // namespace tessera
