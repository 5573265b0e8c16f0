#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Whether to use the fused kernels of this layer on this tensor rather than libtorch's operations. TESSERA_CUDA_KERNELS=0
// turns them off on GPUs, to compare.
bool use_fused(const at::Tensor& x);

// The same for the parts of transformers: libtorch's are good ones on a CPU, so there only tests use ours, in a guard's scope.
bool use_fused_transformer(const at::Tensor& x);

// Makes use_fused_transformer true on a CPU, for the thread that made it.
class FusedTransformerGuard {
 public:
  FusedTransformerGuard();
  ~FusedTransformerGuard();
  FusedTransformerGuard(const FusedTransformerGuard&) = delete;
  FusedTransformerGuard& operator=(const FusedTransformerGuard&) = delete;
};

}  // namespace tessera
