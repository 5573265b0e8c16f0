#pragma once
#include "cuda/common/copy_groups.h"
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "cuda/tokens/layer_norm_forward.h"

namespace tessera {

// A warp owns a row. What its lanes must see twice waits in shared memory, each lane's values at the lane's own places, so no
// barrier is needed.

template <class T, class B, class O>
struct NormBackward {
  TokenRows<const O> grad_out;
  const T* grad_sum;  // may be null
  const T *sum, *mean, *rstd, *weight;
  T* grad_x;
  B* grad_branch;  // null where grad_x serves
  T* parts;        // (blocks, 2 or 3, width): this block's part of the gradients of weight, bias and maybe the branch's bias
  int64_t rows;
  int width;
};

// The block's sum of what its warps have in shared memory, `stride` apart: `count` gradients.
template <class T>
__device__ __forceinline__ void leave_norm_sums(const T* first, int stride, T* parts, int count) {
  const int warps = blockDim.x / 32;
  __syncthreads();
  for (int at = threadIdx.x; at < count; at += blockDim.x) {
    T total = 0;
    for (int w = 0; w < warps; ++w) total += first[w * stride + at];
    parts[static_cast<int64_t>(blockIdx.x) * count + at] = total;
  }
}

// grad_x = rstd (g - mean(g) - y mean(g y)) with g = grad_out * weight, y = (x - mean) rstd. A block's warps take rows in turn,
// and sum up grad_out * y and grad_out over theirs for the gradients of weight and bias. Traffic per value, float32 x with a
// bfloat16 branch and grad_out: 16 bytes (2 + 4 + 4 read, 4 + 2 written).

// For rows of any width: a warp has the row of grad_out, y and the sums in shared memory.
template <int kSize, class T, class B, class O>
__global__ void __launch_bounds__(32 * kRowWarps) layer_norm_backward_kernel(NormBackward<T, B, O> a) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  T* const grads = shared_memory<T>() + static_cast<int64_t>(warp) * 4 * a.width;
  T* const ys = grads + a.width;
  T* const sums = ys + a.width;  // (2, width)
  const T count = static_cast<T>(a.width);
  for (int at = lane; at < 2 * a.width; at += 32) sums[at] = 0;
  __syncwarp();
  for (int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp; row < a.rows; row += int64_t{gridDim.x} * warps) {
    const T mean = a.mean[row], rstd = a.rstd[row];
    const int64_t begin = row * a.width;
    const O* const grad_row = a.grad_out.row(row);
    T g_total = 0, gy_total = 0;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      Pack<O, kSize> grad_out{};
      if (grad_row != nullptr) grad_out = load_pack<kSize>(grad_row + at);
      const Pack<T, kSize> x = load_pack<kSize>(a.sum + begin + at), weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> y, d;
      for (int k = 0; k < kSize; ++k) {
        y.value[k] = (x.value[k] - mean) * rstd;
        d.value[k] = static_cast<T>(grad_out.value[k]);
        g_total += d.value[k] * weight.value[k];
        gy_total += d.value[k] * weight.value[k] * y.value[k];
      }
      store_pack(ys + at, y);
      store_pack(grads + at, d);
    }
    const T g_mean = warp_sum(g_total) / count, gy_mean = warp_sum(gy_total) / count;
    for (int at = lane * kSize; at < a.width; at += 32 * kSize) {
      const Pack<T, kSize> y = load_pack<kSize>(ys + at), d = load_pack<kSize>(grads + at),
                           weight = load_pack<kSize>(a.weight + at);
      Pack<T, kSize> weight_sum = load_pack<kSize>(sums + at), bias_sum = load_pack<kSize>(sums + a.width + at), dx{};
      if (a.grad_sum != nullptr) dx = load_pack<kSize>(a.grad_sum + begin + at);
      Pack<B, kSize> dbranch;
      for (int k = 0; k < kSize; ++k) {
        dx.value[k] += rstd * (d.value[k] * weight.value[k] - g_mean - y.value[k] * gy_mean);
        dbranch.value[k] = static_cast<B>(dx.value[k]);
        weight_sum.value[k] += d.value[k] * y.value[k];
        bias_sum.value[k] += d.value[k];
      }
      store_pack(a.grad_x + begin + at, dx);
      if (a.grad_branch != nullptr) store_pack(a.grad_branch + begin + at, dbranch);
      store_pack(sums + at, weight_sum);
      store_pack(sums + a.width + at, bias_sum);
    }
  }
  leave_norm_sums(shared_memory<T>() + 2 * a.width, 4 * a.width, a.parts, 2 * a.width);
}

// The values of a row that a warp needs, each lane's at the lane's own places.
template <int kPacks, class B>
struct NormStage {
  Pack<float, 4> sum[kPacks][32], grad_sum[kPacks][32];
  Pack<B, 4> grad_out[kPacks][32];
};

// For rows of up to 128 * kPacks float32 values, in packs. A warp's sums live in registers; its next row is on the way to
// shared memory while it computes with one. kBranchSums: also the sums of grad_x, the gradient of the bias that was added to
// the branch.
template <int kPacks, bool kBranchSums, class B>
__global__ void __launch_bounds__(32 * kRowWarps, kPacks > 6 ? 2 : 3)
    layer_norm_backward_staged_kernel(NormBackward<float, B, B> a) {
  constexpr int kSize = 4;
  using Stage = NormStage<kPacks, B>;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  const float inverse_width = 1.0F / static_cast<float>(a.width);
  const int64_t step = int64_t{gridDim.x} * warps;
  Stage* const stages = shared_memory<Stage>() + 2 * warp;
  Pack<float, kSize> weight[kPacks] = {}, weight_sum[kPacks] = {}, bias_sum[kPacks] = {}, branch_sum[kPacks] = {};
  float mean = 0, rstd = 0;
  const auto fetch = [&](int64_t row, Stage& stage) {
    const B* const grad_out = a.grad_out.row(row);
    const int64_t begin = row * a.width;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int column = (32 * i + lane) * kSize;
      if (column >= a.width) continue;
      begin_pack_copy(&stage.sum[i][lane], a.sum + begin + column);
      if (a.grad_sum != nullptr) begin_pack_copy(&stage.grad_sum[i][lane], a.grad_sum + begin + column);
      if (grad_out != nullptr) {
        begin_pack_copy(&stage.grad_out[i][lane], grad_out + column);
      } else {
        stage.grad_out[i][lane] = {};
      }
    }
    end_copy_group();
    mean = a.mean[row];
    rstd = a.rstd[row];
  };
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    if (column < a.width) weight[i] = load_pack<kSize>(a.weight + column);
  }
  int64_t row = static_cast<int64_t>(blockIdx.x) * warps + warp;
  if (row < a.rows) fetch(row, stages[0]);
  for (int turn = 0; row < a.rows; row += step, turn = 1 - turn) {
    const float own_mean = mean, own_rstd = rstd;
    if (row + step < a.rows) {
      fetch(row + step, stages[1 - turn]);
      wait_for_earlier_groups();
    } else {
      wait_for_copies();
    }
    const Stage& stage = stages[turn];
    float g_total = 0, gy_total = 0;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if ((32 * i + lane) * kSize >= a.width) continue;
      const Pack<B, kSize> grad_out = stage.grad_out[i][lane];
      const Pack<float, kSize> x = stage.sum[i][lane];
      for (int k = 0; k < kSize; ++k) {
        const float d = static_cast<float>(grad_out.value[k]), y = (x.value[k] - own_mean) * own_rstd,
                    g = d * weight[i].value[k];
        weight_sum[i].value[k] += d * y;
        bias_sum[i].value[k] += d;
        g_total += g;
        gy_total += g * y;
      }
    }
    const float g_mean = warp_sum(g_total) * inverse_width, gy_mean = warp_sum(gy_total) * inverse_width;
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      const int column = (32 * i + lane) * kSize;
      if (column >= a.width) continue;
      const Pack<B, kSize> grad_out = stage.grad_out[i][lane];
      const Pack<float, kSize> x = stage.sum[i][lane];
      Pack<float, kSize> dx{};
      if (a.grad_sum != nullptr) dx = stage.grad_sum[i][lane];
      Pack<B, kSize> dbranch;
      for (int k = 0; k < kSize; ++k) {
        const float g = static_cast<float>(grad_out.value[k]) * weight[i].value[k], y = (x.value[k] - own_mean) * own_rstd;
        dx.value[k] += own_rstd * (g - g_mean - y * gy_mean);
        dbranch.value[k] = static_cast<B>(dx.value[k]);
        if constexpr (kBranchSums) branch_sum[i].value[k] += dx.value[k];
      }
      store_pack(a.grad_x + row * a.width + column, dx);
      if (a.grad_branch != nullptr) store_pack(a.grad_branch + row * a.width + column, dbranch);
    }
  }
  constexpr int kSums = kBranchSums ? 3 : 2;
  __syncwarp();  // the sums take the place of rows that other lanes may still read
  auto* const sums = reinterpret_cast<float*>(stages);
#pragma unroll
  for (int i = 0; i < kPacks; ++i) {
    const int column = (32 * i + lane) * kSize;
    if (column >= a.width) continue;
    store_pack(sums + column, weight_sum[i]);
    store_pack(sums + a.width + column, bias_sum[i]);
    if constexpr (kBranchSums) store_pack(sums + 2 * a.width + column, branch_sum[i]);
  }
  leave_norm_sums(shared_memory<float>(), 2 * sizeof(Stage) / sizeof(float), a.parts, kSums * a.width);
}

template <class B>
struct StagedNorm {
  void (*kernel)(NormBackward<float, B, B>);
  size_t shared_bytes;
};
template <int kPacks, class B>
StagedNorm<B> staged_norm_of(bool branch_sums) {
  return {
      branch_sums ? layer_norm_backward_staged_kernel<kPacks, true, B> : layer_norm_backward_staged_kernel<kPacks, false, B>,
      2 * kRowWarps * sizeof(NormStage<kPacks, B>)};
}
template <class B>
StagedNorm<B> staged_norm(int width, bool branch_sums) {
  return width <= 384   ? staged_norm_of<3, B>(branch_sums)
         : width <= 768 ? staged_norm_of<6, B>(branch_sums)
                        : staged_norm_of<8, B>(branch_sums);
}

}  // namespace tessera
