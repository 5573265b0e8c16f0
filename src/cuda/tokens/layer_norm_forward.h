#pragma once
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"

namespace tessera {

inline constexpr int kRowWarps = 4;  // of a block, each with a row
inline constexpr int kRegisterWidth = 1024;

// Where rows of tokens lie, (N * tokens, width): the first `head` tokens of each sample are rows of one tensor, (N, head,
// width), the others of a second. One tensor alone: tokens = head = all rows.
template <class T>
struct TokenRows {
  T *first, *rest;  // null: there is no such row
  unsigned tokens, head;
  int width;

  __device__ __forceinline__ T* row(int64_t index) const {
    const unsigned sample = static_cast<unsigned>(index) / tokens, token = static_cast<unsigned>(index) % tokens;
    T* const from = token < head ? first : rest;
    const int64_t at = token < head ? int64_t{sample} * head + token : int64_t{sample} * (tokens - head) + token - head;
    return from == nullptr ? nullptr : from + at * width;
  }
};

template <class T, class B, class O>
struct NormForward {
  const T* x;
  const B* branch;       // may be null
  const T* branch_bias;  // may be null
  const T *weight, *bias;
  T* sum;  // null without a branch
  TokenRows<O> out;
  T *mean, *rstd;
  int64_t rows;
  int width;
  T eps;
};

// A warp owns a row. Traffic per value, float32 x with a bfloat16 branch and result: 12 bytes (4 + 2 read, 4 + 2 written).

// For rows of any width: the row waits in shared memory for the second and third look.
template <int kSize, class T, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_kernel(NormForward<T, B, O> a) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp;
  if (row >= a.rows) return;
  T* const kept = shared_memory<T>() + static_cast<int64_t>(warp) * a.width;
  O* const out = a.out.row(row);
  const int64_t begin = row * a.width;
  T total = 0;
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    Pack<T, kSize> values = load_pack<kSize>(a.x + begin + at);
    if (a.branch != nullptr) {
      const Pack<B, kSize> added = load_pack<kSize>(a.branch + begin + at);
      Pack<T, kSize> branch_bias{};
      if (a.branch_bias != nullptr) branch_bias = load_pack<kSize>(a.branch_bias + at);
      for (int k = 0; k < kSize; ++k) values.value[k] += static_cast<T>(added.value[k]) + branch_bias.value[k];
      store_pack(a.sum + begin + at, values);
    }
    for (int k = 0; k < kSize; ++k) total += values.value[k];
    store_pack(kept + at, values);
  }
  const T mean = warp_sum(total) / static_cast<T>(a.width);
  T squares = 0;
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> values = load_pack<kSize>(kept + at);
    for (int k = 0; k < kSize; ++k) squares += (values.value[k] - mean) * (values.value[k] - mean);
  }
  const T rstd = T(1) / sqrt(warp_sum(squares) / static_cast<T>(a.width) + a.eps);
  for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
    const Pack<T, kSize> values = load_pack<kSize>(kept + at), weight = load_pack<kSize>(a.weight + at),
                         bias = load_pack<kSize>(a.bias + at);
    Pack<O, kSize> results;
    for (int k = 0; k < kSize; ++k)
      results.value[k] = static_cast<O>((values.value[k] - mean) * rstd * weight.value[k] + bias.value[k]);
    store_pack(out + at, results);
  }
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

// For rows of up to 128 * kPacks float32 values, in packs: they stay in registers, and the memory is asked for the whole row at
// once.
template <int kPacks, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_registers_kernel(NormForward<float, B, O> a) {
  constexpr int kSize = 4;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp;
  if (row >= a.rows) return;
  const float inverse_width = 1.0F / static_cast<float>(a.width);
  const int64_t begin = row * a.width;
  Pack<float, kSize> x[kPacks] = {};
  Pack<B, kSize> added[kPacks] = {};
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    if (column >= a.width) continue;
    x[i] = load_pack<kSize>(a.x + begin + column);
    if (a.branch != nullptr) added[i] = load_pack<kSize>(a.branch + begin + column);
  }
  float total = 0;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    Pack<float, kSize> branch_bias{};
    if (a.branch_bias != nullptr && column < a.width) branch_bias = load_pack<kSize>(a.branch_bias + column);
    for (int k = 0; k < kSize; ++k) {
      x[i].value[k] += static_cast<float>(added[i].value[k]) + branch_bias.value[k];
      total += x[i].value[k];
    }
    if (a.sum != nullptr && column < a.width) store_pack(a.sum + begin + column, x[i]);
  }
  const float mean = warp_sum(total) * inverse_width;
  float squares = 0;
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    if ((32 * i + lane) * kSize >= a.width) continue;
    for (int k = 0; k < kSize; ++k) squares += (x[i].value[k] - mean) * (x[i].value[k] - mean);
  }
  const float rstd = 1.0F / sqrt(warp_sum(squares) * inverse_width + a.eps);
  O* const out = a.out.row(row);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    if (column >= a.width) continue;
    const Pack<float, kSize> weight = load_pack<kSize>(a.weight + column), bias = load_pack<kSize>(a.bias + column);
    Pack<O, kSize> results;
    for (int k = 0; k < kSize; ++k)
      results.value[k] = static_cast<O>((x[i].value[k] - mean) * rstd * weight.value[k] + bias.value[k]);
    store_pack(out + column, results);
  }
  if (lane == 0) {
    a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
}

template <class B, class O>
auto layer_norm_in_registers(int width) {
  return width <= 384   ? layer_norm_registers_kernel<3, B, O>
         : width <= 768 ? layer_norm_registers_kernel<6, B, O>
                        : layer_norm_registers_kernel<8, B, O>;
}

}  // namespace tessera
