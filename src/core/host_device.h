#pragma once
// What CPU code and CUDA kernels share.
#include <type_traits>

// Marks functions that both call.
#if defined(__CUDACC__)
#define TSR_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TSR_HOST_DEVICE inline
#endif

namespace tessera {

// The type that values stored as S are computed and summed in: double for double, else float.
template <class S>
using Compute = std::conditional_t<std::is_same_v<S, double>, double, float>;

}  // namespace tessera
