#pragma once
#include "cuda/common/launch.h"

namespace tessera {

// Sum over a block of at most 1024 threads, a multiple of 32, in a fixed order; every thread gets it. All threads must call
// it. `scratch`: 32 values of shared memory, which may be used again at once.
template <class T>
__device__ __forceinline__ T block_sum(T value, T* scratch) {
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
  value = warp_sum(value);
  if (lane == 0) scratch[warp] = value;
  __syncthreads();
  value = warp_sum(lane < warps ? scratch[lane] : T(0));
  __syncthreads();
  return value;
}

}  // namespace tessera
