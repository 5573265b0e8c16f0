#pragma once
// How kernels are started and registered. Sources that include this instead of CUDA's own headers can also be compiled for the
// CPU, see tests/support/cuda_on_cpu.h: machines without a GPU then test every kernel's arithmetic and indices.
#ifdef TESSERA_CUDA_ON_CPU
#include "support/cuda_on_cpu.h"
#else
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

namespace tessera {

using DeviceGuard = c10::cuda::CUDAGuard;

// The kernel's dynamic shared memory.
template <class T>
__device__ T* shared_memory() {
  extern __shared__ __align__(16) unsigned char shared_bytes[];
  return reinterpret_cast<T*>(shared_bytes);
}

// Starts `kernel` on the current stream.
template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, const Arguments&... arguments) {
  constexpr size_t kWithoutAsking = 40 << 10;  // of 48 KiB, which arrays of a fixed size share
  if (shared_bytes > kWithoutAsking) {
    C10_CUDA_CHECK(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(shared_bytes)));
  }
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = c10::cuda::getCurrentCUDAStream();
  C10_CUDA_CHECK(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

}  // namespace tessera

#define TSR_CUDA_OPS(library) TORCH_LIBRARY_IMPL(tessera, CUDA, library)
#endif

namespace tessera {

inline unsigned blocks_for(int64_t items, int64_t per_block) {
  return static_cast<unsigned>((items + per_block - 1) / per_block);
}

inline constexpr unsigned kAllLanes = 0xffffffffu;

// Sum over a warp's lanes, in a fixed order; every lane gets it.
template <class T>
__device__ __forceinline__ T warp_sum(T value) {
  for (int distance = 16; distance > 0; distance /= 2) value += __shfl_xor_sync(kAllLanes, value, distance);
  return value;
}
template <class T>
__device__ __forceinline__ T warp_max(T value) {
  for (int distance = 16; distance > 0; distance /= 2) {
    const T other = __shfl_xor_sync(kAllLanes, value, distance);
    value = other > value ? other : value;
  }
  return value;
}

}  // namespace tessera
