#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "cuda/common/short_type.h"

namespace tessera {
namespace {

constexpr int kJoinThreads = 256;

// Places of a sample's sequence: `before` shared tokens, `patches`, the other shared tokens.
struct TokenPlaces {
  int64_t samples;
  int before, patches, tokens, width;

  __device__ __forceinline__ bool shared(int place) const { return place < before || place >= before + patches; }
  __device__ __forceinline__ int token(int place) const { return place < before ? place : place - patches; }
  __host__ __device__ int count() const { return patches + tokens; }
};

template <class T, class P>
struct JoinTokens {
  TokenPlaces places;
  const P* patches;
  const T *tokens, *positions;  // positions may be null
  T* out;
};

// A thread owns kSize columns of a place and goes through the samples, a few at a time.
// Traffic: patches read once, the result written once.
template <int kSize, class T, class P>
__global__ void __launch_bounds__(kJoinThreads) join_tokens_kernel(JoinTokens<T, P> a) {
  const TokenPlaces& places = a.places;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kJoinThreads + threadIdx.x;
  const int packs = places.width / kSize, place = static_cast<int>(index / packs),
            column = static_cast<int>(index % packs) * kSize;
  if (place >= places.count()) return;
  Pack<T, kSize> base{};
  if (places.shared(place)) base = load_pack<kSize>(a.tokens + int64_t{places.token(place)} * places.width + column);
  if (a.positions != nullptr) {
    const Pack<T, kSize> position = load_pack<kSize>(a.positions + int64_t{place} * places.width + column);
    for (int k = 0; k < kSize; ++k) base.value[k] += position.value[k];
  }
  T* const to = a.out + int64_t{place} * places.width + column;
  const int64_t step = int64_t{places.count()} * places.width;
  if (places.shared(place)) {
    for (int64_t n = 0; n < places.samples; ++n) store_pack(to + n * step, base);
    return;
  }
  const int64_t from_step = int64_t{places.patches} * places.width;
  const P* const from = a.patches + int64_t{place - places.before} * places.width + column;
  constexpr int kAhead = 8;
  for (int64_t begin = 0; begin < places.samples; begin += kAhead) {
    Pack<P, kSize> patch[kAhead]{};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (begin + i < places.samples) patch[i] = load_pack<kSize>(from + (begin + i) * from_step);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (begin + i >= places.samples) continue;
      Pack<T, kSize> sum;
      for (int k = 0; k < kSize; ++k) sum.value[k] = static_cast<T>(patch[i].value[k]) + base.value[k];
      store_pack(to + (begin + i) * step, sum);
    }
  }
}

template <class T, class P>
struct JoinTokensBackward {
  TokenPlaces places;
  const T* grad_out;
  P* grad_patches;
  T *grad_tokens, *grad_positions;  // grad_positions may be null
};

// Traffic: grad_out read once, the patches' gradient written once.
template <int kSize, class T, class P>
__global__ void __launch_bounds__(kJoinThreads) join_tokens_backward_kernel(JoinTokensBackward<T, P> a) {
  const TokenPlaces& places = a.places;
  const int64_t index = static_cast<int64_t>(blockIdx.x) * kJoinThreads + threadIdx.x;
  const int packs = places.width / kSize, place = static_cast<int>(index / packs),
            column = static_cast<int>(index % packs) * kSize;
  if (place >= places.count()) return;
  const T* const from = a.grad_out + int64_t{place} * places.width + column;
  const int64_t step = int64_t{places.count()} * places.width, to_step = int64_t{places.patches} * places.width;
  P* const to = places.shared(place) ? nullptr : a.grad_patches + int64_t{place - places.before} * places.width + column;
  Pack<T, kSize> total{};
  constexpr int kAhead = 8;
  for (int64_t begin = 0; begin < places.samples; begin += kAhead) {
    Pack<T, kSize> grad_out[kAhead]{};
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (begin + i < places.samples) grad_out[i] = load_pack<kSize>(from + (begin + i) * step);
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      if (begin + i >= places.samples) continue;
      Pack<P, kSize> patch{};
      for (int k = 0; k < kSize; ++k) {
        total.value[k] += grad_out[i].value[k];
        patch.value[k] = static_cast<P>(grad_out[i].value[k]);
      }
      if (to != nullptr) store_pack(to + (begin + i) * to_step, patch);
    }
  }
  if (places.shared(place)) store_pack(a.grad_tokens + int64_t{places.token(place)} * places.width + column, total);
  if (a.grad_positions != nullptr) store_pack(a.grad_positions + int64_t{place} * places.width + column, total);
}

// Starts the kernel with packs where all pointers allow it, else the other.
template <class Arguments>
void run_joined(const Arguments& a, bool aligned, int size, void (*packs)(Arguments), void (*singles)(Arguments)) {
  const bool fit = aligned && a.places.width % size == 0;
  const int64_t threads = int64_t{a.places.count()} * (a.places.width / (fit ? size : 1));
  launch(fit ? packs : singles, blocks_for(threads, kJoinThreads), kJoinThreads, 0, a);
}

at::Tensor join_tokens_cuda(const at::Tensor& patches, const at::Tensor& tokens, const std::optional<at::Tensor>& positions,
                            bool tokens_first) {
  const DeviceGuard guard(patches.device());
  const int64_t count = patches.size(1) + tokens.size(0);
  const at::Tensor out = at::empty({patches.size(0), count, tokens.size(1)}, tokens.options());
  if (out.numel() == 0) return out;
  const TokenPlaces places{patches.size(0), static_cast<int>(tokens_first ? tokens.size(0) : 0),
                           static_cast<int>(patches.size(1)), static_cast<int>(tokens.size(0)),
                           static_cast<int>(tokens.size(1))};
  AT_DISPATCH_FLOATING_TYPES(tokens.scalar_type(), "join_tokens", [&] {
    using T = scalar_t;
    with_short_type<T>(patches.scalar_type(), [&]<class P>(P) {
      const JoinTokens<T, P> a{places, patches.const_data_ptr<P>(), tokens.const_data_ptr<T>(),
                               positions ? positions->const_data_ptr<T>() : nullptr, out.mutable_data_ptr<T>()};
      const bool aligned = is_aligned(a.patches) && is_aligned(a.tokens) && is_aligned(a.positions);
      constexpr int kSize = 16 / sizeof(T);
      run_joined(a, aligned, kSize, join_tokens_kernel<kSize, T, P>, join_tokens_kernel<1, T, P>);
    });
  });
  return out;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> join_tokens_backward_cuda(const at::Tensor& grad_out, int64_t tokens,
                                                                         at::ScalarType patch_type, bool tokens_first,
                                                                         bool positions) {
  const DeviceGuard guard(grad_out.device());
  const int64_t patches = grad_out.size(1) - tokens, width = grad_out.size(2);
  const at::Tensor grad_patches = at::empty({grad_out.size(0), patches, width}, grad_out.options().dtype(patch_type)),
                   grad_tokens = at::empty({tokens, width}, grad_out.options()),
                   grad_positions = positions ? at::empty({patches + tokens, width}, grad_out.options()) : at::Tensor();
  const TokenPlaces places{grad_out.size(0), static_cast<int>(tokens_first ? tokens : 0), static_cast<int>(patches),
                           static_cast<int>(tokens), static_cast<int>(width)};
  if (int64_t{places.count()} * width == 0) return {grad_patches, grad_tokens, grad_positions};
  AT_DISPATCH_FLOATING_TYPES(grad_out.scalar_type(), "join_tokens_backward", [&] {
    using T = scalar_t;
    with_short_type<T>(patch_type, [&]<class P>(P) {
      const JoinTokensBackward<T, P> a{places, grad_out.const_data_ptr<T>(), grad_patches.mutable_data_ptr<P>(),
                                       grad_tokens.mutable_data_ptr<T>(),
                                       positions ? grad_positions.mutable_data_ptr<T>() : nullptr};
      constexpr int kSize = 16 / sizeof(T);
      run_joined(a, is_aligned(a.grad_out), kSize, join_tokens_backward_kernel<kSize, T, P>,
                 join_tokens_backward_kernel<1, T, P>);
    });
  });
  return {grad_patches, grad_tokens, grad_positions};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("join_tokens", join_tokens_cuda);
  m.impl("join_tokens_backward", join_tokens_backward_cuda);
}

}  // namespace tessera
