#pragma once
#include <cstring>

#include "cuda/launch.h"

namespace tessera {

// 16 bytes, both places aligned to them, from global to shared memory: no register waits for them.
__device__ __forceinline__ void copy_async(void* to_shared, const void* from) {
#ifdef __CUDA_ARCH__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to_shared))),
               "l"(from)
               : "memory");
#else
  std::memcpy(to_shared, from, 16);
#endif
}

// Until the thread's own copies are there; the block's need a barrier after it.
__device__ __forceinline__ void wait_for_copies() {
#ifdef __CUDA_ARCH__
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
