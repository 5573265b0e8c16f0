#pragma once
#include "cuda/launch.h"
#include "cuda/pack.h"

namespace tessera {

// A warp owns a row. What its lanes must see twice waits in registers, or in shared memory, each lane's values at the lane's
// own places, so no barrier is needed.
inline constexpr int kRowWarps = 4;

template <class T, class B, class O>
struct NormBackward {
  const O* slope;
  const T* sum_slope;  // may be null
  const T *sum, *mean, *rstd, *weight;
  T* dx;
  B* dbranch;  // null where dx serves
  T* parts;    // (blocks, 2, width): this block's share of the gradients of weight and bias
  int64_t rows;
  int width;
};

// The block's sum of what its warps have in shared memory, `stride` apart: gradients of weight and bias, (2, width).
template <class T>
__device__ __forceinline__ void leave_norm_sums(const T* first, int stride, T* parts, int width) {
  const int warps = blockDim.x / 32;
  __syncthreads();
  for (int at = threadIdx.x; at < 2 * width; at += blockDim.x) {
    T total = 0;
    for (int w = 0; w < warps; ++w) total += first[w * stride + at];
    parts[static_cast<int64_t>(blockIdx.x) * 2 * width + at] = total;
  }
}

// dx = rstd (g - mean(g) - y mean(g y)) with g = slope * weight, y = (x - mean) rstd. A block's warps take rows in turn, and
// sum up slope * y and slope over theirs for the gradients of weight and bias. Traffic per value, float32 x with a bfloat16
// branch and slope: 16 bytes (2 + 4 + 4 read, 4 + 2 written).

// For rows of any width: a warp has the row's slope and y, and its sums, in shared memory.
template <int kSize, class T, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_backward_kernel(NormBackward<T, B, O> a) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T* const slopes = shared_memory<T>() + static_cast<int64_t>(warp) * 4 * a.width;
  T* const ys = slopes + a.width;
  T* const sums = ys + a.width;  // (2, width)
  const T count = static_cast<T>(a.width);
  for (int at = lane; at < 2 * a.width; at += 32) sums[at] = 0;
  __syncwarp();
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp; row < a.rows; row += int64_t{gridDim.x} * warps) {
    const T mean = a.mean[row], rstd = a.rstd[row];
    const int64_t begin = row * a.width;
    T g_total = 0, gy_total = 0;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      const Pack<O, kSize> slope = load_pack<kSize>(a.slope + begin + at);
      const Pack<T, kSize> x = load_pack<kSize>(a.sum + begin + at), weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> y, d;
      for (int k = 0; k < kSize; ++k) {
        y.value[k] = (x.value[k] - mean) * rstd;
        d.value[k] = static_cast<T>(slope.value[k]);
        g_total += d.value[k] * weight.value[k];
        gy_total += d.value[k] * weight.value[k] * y.value[k];
      }
      store_pack(ys + at, y);
      store_pack(slopes + at, d);
    }
    const T g_mean = warp_sum(g_total) / count, gy_mean = warp_sum(gy_total) / count;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      const Pack<T, kSize> y = load_pack<kSize>(ys + at), d = load_pack<kSize>(slopes + at),
                           weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> weight_sum = load_pack<kSize>(sums + at), bias_sum = load_pack<kSize>(sums + a.width + at), dx{};
      if (a.sum_slope != nullptr) dx = load_pack<kSize>(a.sum_slope + begin + at);
      Pack<B, kSize> dbranch;
      for (int k = 0; k < kSize; ++k) {
        dx.value[k] += rstd * (d.value[k] * weight.value[k] - g_mean - y.value[k] * gy_mean);
        dbranch.value[k] = static_cast<B>(dx.value[k]);
        weight_sum.value[k] += d.value[k] * y.value[k];
        bias_sum.value[k] += d.value[k];
      }
      store_pack(a.dx + begin + at, dx);
      if (a.dbranch != nullptr) store_pack(a.dbranch + begin + at, dbranch);
      store_pack(sums + at, weight_sum);
      store_pack(sums + a.width + at, bias_sum);
    }
  }
  leave_norm_sums(shared_memory<T>() + 2 * a.width, 4 * a.width, a.parts, a.width);
}

inline constexpr int kRegisterWidth = 1024;

// For rows of up to 128 * kPacks float32 values, in packs: a warp has them in registers, and asks the memory for the whole row
// at once.
template <int kPacks, class B>
__global__ void __launch_bounds__(32 * kRowWarps, kPacks > 6 ? 2 : 3)
    layer_norm_backward_registers_kernel(NormBackward<float, B, B> a) {
  constexpr int kSize = 4;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const float share = 1.0F / static_cast<float>(a.width);
  Pack<float, kSize> weight_sum[kPacks] = {}, bias_sum[kPacks] = {};
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp; row < a.rows; row += int64_t{gridDim.x} * warps) {
    const int64_t begin = row * a.width;
    Pack<B, kSize> slope[kPacks] = {};
    Pack<float, kSize> y[kPacks] = {}, dx[kPacks] = {};
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int column = (32 * i + lane) * kSize;
      if (column >= a.width) continue;
      slope[i] = load_pack<kSize>(a.slope + begin + column);
      y[i] = load_pack<kSize>(a.sum + begin + column);
      if (a.sum_slope != nullptr) dx[i] = load_pack<kSize>(a.sum_slope + begin + column);
    }
    const float mean = a.mean[row], rstd = a.rstd[row];
    float g_total = 0, gy_total = 0;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int column = (32 * i + lane) * kSize;
      if (column >= a.width) continue;
      const Pack<float, kSize> weight = load_pack<kSize>(a.weight + column);
      for (int k = 0; k < kSize; ++k) {
        const float d = static_cast<float>(slope[i].value[k]);
        y[i].value[k] = (y[i].value[k] - mean) * rstd;
        weight_sum[i].value[k] += d * y[i].value[k];
        bias_sum[i].value[k] += d;
        g_total += d * weight.value[k];
        gy_total += d * weight.value[k] * y[i].value[k];
      }
    }
    const float g_mean = warp_sum(g_total) * share, gy_mean = warp_sum(gy_total) * share;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int column = (32 * i + lane) * kSize;
      if (column >= a.width) continue;
      const Pack<float, kSize> weight = load_pack<kSize>(a.weight + column);
      Pack<B, kSize> dbranch;
      for (int k = 0; k < kSize; ++k) {
        const float g = static_cast<float>(slope[i].value[k]) * weight.value[k];
        dx[i].value[k] += rstd * (g - g_mean - y[i].value[k] * gy_mean);
        dbranch.value[k] = static_cast<B>(dx[i].value[k]);
      }
      store_pack(a.dx + begin + column, dx[i]);
      if (a.dbranch != nullptr) store_pack(a.dbranch + begin + column, dbranch);
    }
  }
  float* const sums = shared_memory<float>() + static_cast<int64_t>(warp) * 2 * a.width;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    if (column >= a.width) continue;
    store_pack(sums + column, weight_sum[i]);
    store_pack(sums + a.width + column, bias_sum[i]);
  }
  leave_norm_sums(shared_memory<float>(), 2 * a.width, a.parts, a.width);
}

template <class B>
auto register_kernel(int width) {
  return width <= 384   ? layer_norm_backward_registers_kernel<3, B>
         : width <= 768 ? layer_norm_backward_registers_kernel<6, B>
                        : layer_norm_backward_registers_kernel<8, B>;
}

}  // namespace tessera
