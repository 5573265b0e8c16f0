#pragma once
#include "cuda/common/async_copy.h"

namespace tessera {

// Begins to copy a value of 16 or 8 bytes, see begin_copy.
template <class Value>
__device__ __forceinline__ void begin_pack_copy(Value* shared, const void* from) {
  static_assert(sizeof(Value) == 16 || sizeof(Value) == 8);
  if constexpr (sizeof(Value) == 16) {
    begin_copy(shared, from);
  } else {
#ifdef TESSERA_CUDA_ON_CPU
    std::memcpy(shared, from, sizeof(Value));
#else
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                 "l"(from)
                 : "memory");
#endif
  }
}

// Ends a group of copies, which may then be waited for while later ones are on their way.
__device__ __forceinline__ void end_copy_group() {
#ifndef TESSERA_CUDA_ON_CPU
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}

// The thread's own copies have arrived, those of its last group excepted.
__device__ __forceinline__ void wait_for_earlier_groups() {
#ifndef TESSERA_CUDA_ON_CPU
  asm volatile("cp.async.wait_group 1;" ::: "memory");
#endif
}

}  // namespace tessera
