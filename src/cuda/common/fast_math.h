#pragma once
#include <cmath>

#include "cuda/common/launch.h"

namespace tessera {

// The GPU's own approximations, right to about 22 bits; of float64 the exact functions.
__device__ __forceinline__ float exp2_fast(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return std::exp2(x);
#endif
}
__device__ __forceinline__ double exp2_fast(double x) {
  return exp2(x);
}

__device__ __forceinline__ float reciprocal_fast(float x) {
#ifdef __CUDA_ARCH__
  float result;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(result) : "f"(x));
  return result;
#else
  return 1 / x;
#endif
}

__device__ __forceinline__ float divide_fast(float a, float b) {
  return __fdividef(a, b);
}
__device__ __forceinline__ double divide_fast(double a, double b) {
  return a / b;
}

}  // namespace tessera
