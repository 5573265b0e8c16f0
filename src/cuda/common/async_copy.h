#pragma once
#include <cstring>

#include "cuda/common/launch.h"

namespace tessera {

// Begins to copy 16 bytes to shared memory, past the registers: a thread may have any number on their way. Both addresses are
// multiples of 16.
__device__ __forceinline__ void begin_copy(void* shared, const void* from) {
#ifdef TESSERA_CUDA_ON_CPU
  std::memcpy(shared, from, 16);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(from)
               : "memory");
#endif
}

// The thread's own copies have arrived; those of the block's other threads after a __syncthreads().
__device__ __forceinline__ void wait_for_copies() {
#ifndef TESSERA_CUDA_ON_CPU
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// Asks for the line of 128 bytes that will be read soon.
__device__ __forceinline__ void prefetch(const void* from) {
#ifdef __CUDA_ARCH__
  asm volatile("prefetch.global.L1 [%0];" ::"l"(from));
#else
  static_cast<void>(from);
#endif
}

}  // namespace tessera
