#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Whether work on this tensor takes the fused kernels of this layer rather than libtorch's operations: on a CPU always. The
// CUDA kernels have so far been tested on a CPU only (tests/support/cuda_on_cpu.h), so on a GPU they wait for TESSERA_CUDA_KERNELS=1.
bool takes_fused_kernels(const at::Tensor& x);

}  // namespace tessera
