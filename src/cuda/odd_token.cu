#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <array>

#include "cuda/column_sums.h"
#include "cuda/fast_math.h"
#include "cuda/heads_part.h"
#include "kernels/compute_type.h"

// See Note [The odd token]. A lane stays in its columns, so that what it needs of the first token lives in registers; a block
// has a stretch of a sample's tokens, its warps take them in turn. The lanes of a head add up its products among themselves.
// Traffic: the gradients, qkv, slope and out are read once, the joined gradient is written.

namespace tessera {
namespace {

constexpr int kOddWarps = 4;
constexpr int kOddStretch = 64;  // tokens of a block, about; fixed: the order of sums must not depend on the GPU

template <class T>
struct OddArgs {
  HeadsPart<T> rest[3];        // of the tokens behind the first
  const T *qkv, *slope, *out;  // (N, T, 3 W), (N, T, W), (N, T, W)
  const Compute<T>* log_sums;  // (N, heads, T)
  T* joined;                   // (N, T, 3 W)
  Compute<T>*sums, *first;     // (N, stretches + 1, 3 W), (N, stretches, 3 W): of all tokens' gradients, of the first token's
  int tokens, stretches, stretch;  // stretches, and the tokens of one
  int heads, d;
  Compute<T> scale;
};

template <class C, class T, int kSize>
__device__ __forceinline__ C dot(const Pack<T, kSize>& a, const Pack<T, kSize>& b) {
  C sum = 0;
#pragma unroll
  for (int i = 0; i < kSize; ++i) sum += static_cast<C>(a.value[i]) * static_cast<C>(b.value[i]);
  return sum;
}

// Over `lanes` neighbours, a power of 2.
template <class C>
__device__ __forceinline__ C sum_over(C value, int lanes) {
  for (int distance = lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}

// What the block's warps have for their columns, added up.
template <class C, int kSize>
__device__ __forceinline__ void leave_columns(const C (&sum)[kSize], C* to, bool here) {
  __shared__ C sums[kOddWarps][32 * kSize];
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  __syncthreads();
  for (int i = 0; i < kSize; ++i) sums[warp][i * 32 + lane] = sum[i];
  __syncthreads();
  if (warp > 0 || !here) return;
  for (int i = 0; i < kSize; ++i) {
    C total = 0;
    for (int w = 0; w < kOddWarps; ++w) total += sums[w][i * 32 + lane];
    to[i] = total;
  }
}

template <class T>
__global__ void __launch_bounds__(32 * kOddWarps) odd_token_kernel(OddArgs<T> a) {
  using C = Compute<T>;
  using Values = Pack<T>;
  constexpr int kSize = Values::kSize;
  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int column = (static_cast<int>(blockIdx.x) * 32 + lane) * kSize, width = a.heads * a.d, lanes = a.d / kSize;
  const bool here = column < width;
  const int head = here ? column / a.d : 0;
  const int64_t sample = blockIdx.z, row = sample * a.tokens;
  const auto load = [&](const T* from) { return here ? load_pack<kSize>(from) : Values{}; };
  const auto part = [&](int token, int which) { return load(a.qkv + ((row + token) * 3 + which) * width + column); };
  const Values q0 = part(0, 0), k0 = part(0, 1), v0 = part(0, 2), g0 = load(a.slope + row * width + column);
  const C delta0 = sum_over(dot<C>(g0, load(a.out + row * width + column)), lanes);
  const C* const log_sums = a.log_sums + (sample * a.heads + head) * a.tokens;
  C sums[3][kSize] = {}, first[3][kSize] = {};
  const int begin = static_cast<int>(blockIdx.y) * a.stretch, end = min(begin + a.stretch, a.tokens);
  for (int token = begin + warp; token < end; token += kOddWarps) {
    const Values q = part(token, 0), k = part(token, 1), v = part(token, 2);
    const Values g = load(a.slope + (row + token) * width + column), o = load(a.out + (row + token) * width + column);
    const int behind = token > 0 ? token - 1 : 0;
    const Values rest[3] = {load(a.rest[0].at(sample, head, behind) + column % a.d),
                            load(a.rest[1].at(sample, head, behind) + column % a.d),
                            load(a.rest[2].at(sample, head, behind) + column % a.d)};
    constexpr C kLog2E = static_cast<C>(1.4426950408889634);
    const C down = exp2_fast((a.scale * sum_over(dot<C>(q, k0), lanes) - log_sums[token]) * kLog2E);
    const C across = exp2_fast((a.scale * sum_over(dot<C>(k, q0), lanes) - log_sums[0]) * kLog2E);
    const C down_slope = a.scale * down * sum_over(dot<C>(g, v0) - dot<C>(g, o), lanes);
    const C across_slope = a.scale * across * (sum_over(dot<C>(v, g0), lanes) - delta0);
#pragma unroll
    for (int i = 0; i < kSize; ++i) {
      first[0][i] += across_slope * static_cast<C>(k.value[i]);
      first[1][i] += down_slope * static_cast<C>(q.value[i]);
      first[2][i] += down * static_cast<C>(g.value[i]);
    }
    if (token == 0 || !here) continue;
    const Values* const of_first[3] = {&k0, &q0, &g0};
    const C factor[3] = {down_slope, across_slope, across};
#pragma unroll
    for (int p = 0; p < 3; ++p) {
      Values result;
#pragma unroll
      for (int i = 0; i < kSize; ++i) {
        result.value[i] = static_cast<T>(static_cast<C>(rest[p].value[i]) + factor[p] * static_cast<C>(of_first[p]->value[i]));
        sums[p][i] += static_cast<C>(result.value[i]);
      }
      store_pack(a.joined + ((row + token) * 3 + p) * width + column, result);
    }
  }
#pragma unroll
  for (int p = 0; p < 3; ++p) {
    const int64_t place = p * width + column;
    leave_columns(sums[p], a.sums + (sample * (a.stretches + 1) + blockIdx.y) * 3 * width + place, here);
    leave_columns(first[p], a.first + (sample * a.stretches + blockIdx.y) * 3 * width + place, here);
  }
}

// The first token's own gradient, a thread for each column of a sample.
template <class T>
__global__ void first_token_kernel(OddArgs<T> a) {
  const int columns = 3 * a.heads * a.d, column = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const int64_t sample = blockIdx.y;
  if (column >= columns) return;
  Compute<T> sum = 0;
#pragma unroll 8
  for (int i = 0; i < a.stretches; ++i) sum += a.first[(sample * a.stretches + i) * columns + column];
  const T value = static_cast<T>(sum);
  a.joined[sample * a.tokens * columns + column] = value;
  a.sums[(sample * (a.stretches + 1) + a.stretches) * columns + column] = static_cast<Compute<T>>(value);
}

at::Tensor join_odd_token_cuda(const at::Tensor& rest_q, const at::Tensor& rest_k, const at::Tensor& rest_v,
                               const at::Tensor& qkv, const at::Tensor& slope, const at::Tensor& out,
                               const at::Tensor& log_sums, const at::Tensor& joined) {
  const DeviceGuard guard(qkv.device());
  const int64_t samples = qkv.size(0), tokens = qkv.size(1), heads = rest_q.size(1), d = rest_q.size(3), width = heads * d;
  const std::array<at::Tensor, 3> rest{with_neighbours(rest_q), with_neighbours(rest_k), with_neighbours(rest_v)};
  const at::Tensor logs = log_sums.contiguous();
  const int64_t stretches = std::max<int64_t>(1, tokens / kOddStretch), rows = samples * (stretches + 1);
  const auto empty = [&](int64_t count) { return at::empty({count, 3 * width}, logs.options()); };
  const at::Tensor parts = empty(rows), first = empty(samples * stretches), sums = at::empty({3 * width}, logs.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kBFloat16, at::kHalf, qkv.scalar_type(), "join_odd_token", [&] {
    using C = Compute<scalar_t>;
    constexpr int kSize = Pack<scalar_t>::kSize;
    OddArgs<scalar_t> a{};
    bool fits = d % kSize == 0 && 32 % (d / kSize) == 0 && is_aligned(qkv.const_data_ptr()) &&
                is_aligned(slope.const_data_ptr()) && is_aligned(out.const_data_ptr()) && is_aligned(joined.const_data_ptr());
    for (size_t i = 0; i < rest.size(); ++i) {
      a.rest[i] = heads_part<scalar_t>(rest[i]);
      fits = fits && packs_fit(a.rest[i], kSize);
    }
    TORCH_CHECK(fits, "join_odd_token takes heads of whole vectors");
    a.qkv = qkv.const_data_ptr<scalar_t>();
    a.slope = slope.const_data_ptr<scalar_t>();
    a.out = out.const_data_ptr<scalar_t>();
    a.log_sums = logs.const_data_ptr<C>();
    a.joined = joined.mutable_data_ptr<scalar_t>();
    a.sums = parts.mutable_data_ptr<C>();
    a.first = first.mutable_data_ptr<C>();
    a.tokens = static_cast<int>(tokens);
    a.stretches = static_cast<int>(stretches);
    a.stretch = static_cast<int>((tokens + stretches - 1) / stretches);
    a.heads = static_cast<int>(heads);
    a.d = static_cast<int>(d);
    a.scale = static_cast<C>(1 / std::sqrt(static_cast<double>(d)));
    const auto layers = static_cast<unsigned>(samples);
    launch(odd_token_kernel<scalar_t>, dim3(blocks_for(width, 32 * kSize), static_cast<unsigned>(stretches), layers),
           32 * kOddWarps, 0, a);
    launch(first_token_kernel<scalar_t>, dim3(blocks_for(3 * width, 128), layers), 128, 0, a);
    column_sums(parts.const_data_ptr<C>(), sums.mutable_data_ptr<C>(), rows, 3 * width);
  });
  return sums;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("join_odd_token", join_odd_token_cuda);
}

}  // namespace tessera
