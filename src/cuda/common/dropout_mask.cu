#include <ATen/ops/empty.h>

#include "cuda/common/launch.h"
#include "kernels/common/dropout_mask.h"

namespace tessera {
namespace {

__global__ void dropout_mask_kernel(const int64_t* keys, float* out, int64_t total, int64_t per_sample, uint64_t layer,
                                    uint32_t threshold, float scale) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < total) out[i] = dropout_factor(layer, keys[i / per_sample], i % per_sample, threshold, scale);
}

at::Tensor dropout_mask_cuda(const at::Tensor& keys, int64_t per_sample, double rate, int64_t layer) {
  const DeviceGuard guard(keys.device());
  const at::Tensor mask = at::empty({keys.size(0), per_sample}, keys.options().dtype(at::kFloat));
  if (mask.numel() == 0) return mask;
  constexpr int kThreads = 256;
  const auto blocks = static_cast<unsigned>((mask.numel() + kThreads - 1) / kThreads);
  launch(dropout_mask_kernel, blocks, kThreads, 0, keys.const_data_ptr<int64_t>(), mask.mutable_data_ptr<float>(), mask.numel(),
         per_sample, static_cast<uint64_t>(layer), static_cast<uint32_t>(rate * 4294967296.0),
         static_cast<float>(1.0 / (1.0 - rate)));
  return mask;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("dropout_mask", dropout_mask_cuda);
}

}  // namespace tessera
