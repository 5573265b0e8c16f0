#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>

#include <algorithm>

#include "cuda/common/block_sum.h"
#include "cuda/common/launch.h"
#include "cuda/common/pack.h"
#include "kernels/update/loss_scaling.h"

namespace tessera {
namespace {

constexpr int kNormThreads = 256;
constexpr int64_t kMostBlocks = 1024;  // fixed: the order of the sums must not depend on the GPU

// Each block's part of the sum of squares. Reads every gradient once: 4 bytes per float32 value.
template <int kSize, class T>
__global__ void __launch_bounds__(kNormThreads) square_sums_kernel(const T* values, int64_t count, double* sums) {
  __shared__ double scratch[32];
  double sum[kSize] = {};
  const int64_t packs = count / kSize, threads = static_cast<int64_t>(gridDim.x) * kNormThreads;
  const int64_t thread = static_cast<int64_t>(blockIdx.x) * kNormThreads + threadIdx.x;
  for (int64_t i = thread; i < packs; i += threads) {
    const Pack<T, kSize> pack = load_pack<kSize>(values + i * kSize);
    for (int k = 0; k < kSize; ++k) sum[k] += static_cast<double>(pack.value[k]) * static_cast<double>(pack.value[k]);
  }
  const int64_t left = packs * kSize + thread;  // fewer than a pack
  if (left < count) sum[0] += static_cast<double>(values[left]) * static_cast<double>(values[left]);
  double total = 0;
  for (int k = 0; k < kSize; ++k) total += sum[k];
  total = block_sum(total, scratch);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

// One block.
__global__ void __launch_bounds__(kNormThreads)
    norm_kernel(const double* sums, int count, double max_norm, LossScaling* scaling, double* norm, double* factor) {
  __shared__ double scratch[32];
  double sum = 0;
  for (int i = threadIdx.x; i < count; i += kNormThreads) sum += sums[i];
  sum = block_sum(sum, scratch);
  if (threadIdx.x != 0) return;
  const double loss_scale = scaling != nullptr ? scaling->scale : 1.0, length = sqrt(sum) / loss_scale;
  *norm = length;
  if (scaling != nullptr) move_on(*scaling, length - length == 0);
  *factor = scaling != nullptr && scaling->held != 0 ? NAN : clip_factor(length, max_norm, loss_scale);
}

std::tuple<at::Tensor, at::Tensor> gradient_norm_cuda(const at::Tensor& grads, double max_norm,
                                                      const std::optional<at::Tensor>& scaling) {
  const DeviceGuard guard(grads.device());
  const auto options = grads.options().dtype(at::kDouble).requires_grad(false);
  const at::Tensor norm = at::empty({}, options), factor = at::empty({}, options);
  constexpr int64_t kPerBlock = 4096;
  const int64_t blocks = std::clamp<int64_t>((grads.numel() + kPerBlock - 1) / kPerBlock, 1, kMostBlocks);
  const at::Tensor sums = at::empty({blocks}, options);
  AT_DISPATCH_FLOATING_TYPES(grads.scalar_type(), "gradient_norm", [&] {
    const auto* data = grads.const_data_ptr<scalar_t>();
    launch(is_aligned(data) ? square_sums_kernel<16 / sizeof(scalar_t), scalar_t> : square_sums_kernel<1, scalar_t>,
           static_cast<unsigned>(blocks), kNormThreads, 0, data, grads.numel(), sums.mutable_data_ptr<double>());
  });
  launch(norm_kernel, 1, kNormThreads, 0, sums.const_data_ptr<double>(), static_cast<int>(blocks), max_norm,
         scaling ? reinterpret_cast<LossScaling*>(scaling->mutable_data_ptr<double>()) : nullptr,
         norm.mutable_data_ptr<double>(), factor.mutable_data_ptr<double>());
  return {norm, factor};
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("gradient_norm", gradient_norm_cuda);
}

}  // namespace tessera
