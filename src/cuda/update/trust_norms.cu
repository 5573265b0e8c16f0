#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include "cuda/common/block_sum.h"
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "cuda/update/step_biases.h"
#include "kernels/update/step_arguments.h"

namespace tessera {
namespace {

constexpr int kTrustThreads = 256;

// `count` neighbours, in one piece where they may be.
template <class T>
__device__ __forceinline__ Pack<T> load_some(const T* from, int count, bool aligned) {
  constexpr int kSize = Pack<T>::kSize;
  if (aligned && count == kSize) return load_pack<kSize>(from);
  Pack<T> pack{};
  for (int i = 0; i < kSize; ++i) {
    if (i < count) pack.value[i] = from[i];
  }
  return pack;
}
template <class T>
__device__ __forceinline__ void store_some(T* to, const Pack<T>& pack, int count, bool aligned) {
  constexpr int kSize = Pack<T>::kSize;
  if (aligned && count == kSize) return store_pack(to, pack);
  for (int i = 0; i < kSize; ++i) {
    if (i < count) to[i] = pack.value[i];
  }
}

// A block has a chunk of a range: sums the squares of its weights and updates up, and moves lamb's moments. Traffic per float32
// value: 24 bytes (weight, gradient, two moments both ways), of lars 8 (weight, gradient). Which thread has which values, and
// so the order of the sums, does not depend on where they lie.
template <UpdateRule kRule, class T>
__global__ void __launch_bounds__(kTrustThreads)
    trust_chunks_kernel(ArenaPointers<T> a, bool aligned, const RangeChunk* chunks, const RangeRates* rates,
                        const double* clip_factor, const LossScaling* scaling, StepNumbers numbers, double* sums) {
  constexpr int kSize = Pack<T>::kSize;
  __shared__ double scratch[32];
  if constexpr (num_states(kRule) == 2) take_biases(numbers, scaling);
  const RangeChunk chunk = chunks[blockIdx.x];
  const double scale = clip_factor != nullptr ? *clip_factor : 1.0;
  double weights = 0, updates = 0;
  if (!skips_step(scale, scaling)) {
    const auto n = range_numbers<kRule, T>(numbers, rates[chunk.range], scale);
    const bool whole = aligned && chunk.begin % kSize == 0;
    for (int64_t at = chunk.begin + threadIdx.x * kSize; at < chunk.end; at += kTrustThreads * kSize) {
      const int count = static_cast<int>(chunk.end - at < kSize ? chunk.end - at : kSize);
      const Pack<T> w = load_some(a.w + at, count, whole), g = load_some(a.g + at, count, whole);
      Pack<T> u{};  // what is behind the end is all 0
      for (int i = 0; i < kSize; ++i) u.value[i] = n.clip_factor * g.value[i];
      if constexpr (kRule == UpdateRule::kLamb) {
        Pack<T> first = load_some(a.first + at, count, whole), second = load_some(a.second + at, count, whole);
        for (int i = 0; i < kSize; ++i) {
          move_moments(u.value[i], first.value[i], second.value[i], n);
          u.value[i] = lamb_update(w.value[i], first.value[i], second.value[i], n);
        }
        store_some(a.first + at, first, count, whole);
        store_some(a.second + at, second, count, whole);
      }
      for (int i = 0; i < kSize; ++i) {
        const auto x = static_cast<double>(w.value[i]), y = static_cast<double>(u.value[i]);
        weights += x * x;
        updates += y * y;
      }
    }
  }
  weights = block_sum(weights, scratch);
  updates = block_sum(updates, scratch);
  if (threadIdx.x != 0) return;
  sums[2 * blockIdx.x] = weights;
  sums[2 * blockIdx.x + 1] = updates;
}

// A warp has a range and adds its chunks up.
__global__ void __launch_bounds__(32)
    trust_ranges_kernel(const RangeChunk* chunks, int count, const double* sums, double* norms) {
  const int64_t range = blockIdx.x;
  int low = 0, high = count;  // the range's first chunk
  while (low < high) {
    const int middle = (low + high) / 2;
    if (chunks[middle].range < range) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  double weights = 0, updates = 0;
  for (int i = low + static_cast<int>(threadIdx.x); i < count && chunks[i].range == range; i += 32) {
    weights += sums[2 * i];
    updates += sums[2 * i + 1];
  }
  weights = warp_sum(weights);
  updates = warp_sum(updates);
  if (threadIdx.x != 0) return;
  norms[2 * range] = weights;
  norms[2 * range + 1] = updates;
}

at::Tensor trust_norms_cuda(const at::Tensor& params, const at::Tensor& grads, at::TensorList state, const at::Tensor& rates,
                            const at::Tensor& chunks, const std::optional<at::Tensor>& clip_factor,
                            const std::optional<at::Tensor>& scaling, int64_t rule, at::ArrayRef<double> numbers) {
  const DeviceGuard guard(params.device());
  const auto options = params.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor sums = at::empty({chunks.size(0), 2}, options), norms = at::empty({rates.size(0), 2}, options);
  const auto* const parts = reinterpret_cast<const RangeChunk*>(chunks.const_data_ptr<int64_t>());
  const auto count = static_cast<int>(chunks.size(0));
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "trust_norms", [&] {
    const auto arenas = arena_pointers<scalar_t>(params, grads, state, std::nullopt);
    const bool aligned = is_aligned(arenas.w) && is_aligned(arenas.g) && is_aligned(arenas.first) && is_aligned(arenas.second);
    const bool lamb = static_cast<UpdateRule>(rule) == UpdateRule::kLamb;
    launch(lamb ? trust_chunks_kernel<UpdateRule::kLamb, scalar_t> : trust_chunks_kernel<UpdateRule::kLars, scalar_t>,
           static_cast<unsigned>(count), kTrustThreads, 0, arenas, aligned, parts,
           reinterpret_cast<const RangeRates*>(rates.const_data_ptr<double>()), number_pointer(clip_factor),
           scaling_pointer(scaling), from_list(numbers), sums.mutable_data_ptr<double>());
  });
  launch(trust_ranges_kernel, static_cast<unsigned>(rates.size(0)), 32, 0, parts, count, sums.const_data_ptr<double>(),
         norms.mutable_data_ptr<double>());
  return norms;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("trust_norms", trust_norms_cuda);
}

}  // namespace tessera
