#include <ATen/ops/zeros.h>

#include <algorithm>

#include "cuda/common/launch.h"

namespace tessera {
namespace {

constexpr int kThreads = 512;
constexpr int64_t kPerBlock = 16384;

// Whole numbers: the order in which threads add them does not matter. In shared memory first, where the many equal labels of
// a block meet; classes beyond `held` go straight to the total. blockIdx.y is the row, of `total` labels.
__global__ void label_counts_kernel(const int16_t* labels, int64_t total, int num_classes, int ignore, int held,
                                    unsigned long long* counts) {
  unsigned* const own = shared_memory<unsigned>();
  for (int c = static_cast<int>(threadIdx.x); c < held; c += kThreads) own[c] = 0;
  labels += blockIdx.y * total;
  counts += static_cast<int64_t>(blockIdx.y) * (num_classes + 1);
  __syncthreads();
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kPerBlock;
  const int64_t end = begin + kPerBlock < total ? begin + kPerBlock : total;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads) {
    const int label = labels[i];
    if (label == ignore) continue;
    const int bin = label >= 0 && label < num_classes ? label : num_classes;
    bin < held ? static_cast<void>(atomicAdd(own + bin, 1u)) : static_cast<void>(atomicAdd(counts + bin, 1ull));
  }
  __syncthreads();
  for (int c = static_cast<int>(threadIdx.x); c < held; c += kThreads) {
    if (own[c] > 0) atomicAdd(counts + c, static_cast<unsigned long long>(own[c]));
  }
}

at::Tensor label_counts_cuda(const at::Tensor& labels, int64_t num_classes, int64_t ignore) {
  const DeviceGuard guard(labels.device());
  const at::Tensor counts = at::zeros({labels.size(0), num_classes + 1}, labels.options().dtype(at::kLong));
  if (labels.numel() == 0) return counts;
  const auto held = static_cast<int>(std::min<int64_t>(num_classes + 1, 8192));
  const dim3 grid(blocks_for(labels.size(1), kPerBlock), static_cast<unsigned>(labels.size(0)));
  launch(label_counts_kernel, grid, kThreads, held * sizeof(unsigned), labels.const_data_ptr<int16_t>(), labels.size(1),
         static_cast<int>(num_classes), static_cast<int>(ignore), held,
         reinterpret_cast<unsigned long long*>(counts.mutable_data_ptr<int64_t>()));
  return counts;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("label_counts", label_counts_cuda);
}

}  // namespace tessera
