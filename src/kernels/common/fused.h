#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Whether work on this tensor takes the fused kernels of this layer rather than libtorch's operations. TESSERA_CUDA_KERNELS=0
// turns them off on GPUs, to compare.
bool takes_fused_kernels(const at::Tensor& x);

// The same for the parts of transformers: libtorch's are good ones on a CPU, so there only tests take ours, in a guard's scope.
bool takes_fused_transformer(const at::Tensor& x);

class FusedTransformerGuard {  // of the thread that made it
 public:
  FusedTransformerGuard();
  ~FusedTransformerGuard();
  FusedTransformerGuard(const FusedTransformerGuard&) = delete;
  FusedTransformerGuard& operator=(const FusedTransformerGuard&) = delete;
};

}  // namespace tessera
