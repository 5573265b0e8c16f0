#pragma once
// Marks functions that CPU code and CUDA kernels share.
#if defined(__CUDACC__)
#define TSR_HOST_DEVICE __host__ __device__ __forceinline__
#else
#define TSR_HOST_DEVICE inline
#endif
