#pragma once
#include <cmath>

#include "cuda/common/fast_math.h"

namespace tessera {

// The normal distribution at x: the probability below x, and its density without the factor 1 / sqrt(2 pi).
template <class T>
struct Normal {
  T below, density;
};

__device__ __forceinline__ Normal<double> normal_at(double x) {
  return {0.5 * (1 + std::erf(x * 0.70710678118654752440)), std::exp(-0.5 * x * x)};
}

// GELU is the one kernel here that arithmetic can hold up: CUDA's erf alone has some 40 instructions, and the density needs
// its exponential again. Instead, the tail's probability behind |x| over the density there is a polynomial in 1 / (1 + 0.36
// |x|): a minimax fit on [0, 12], with an error below 7e-7 of the value, so that small probabilities keep their digits too.
__device__ __forceinline__ Normal<float> normal_at(float x) {
  const float density = exp2_fast(x * x * -0.72134752F);
  const float t = reciprocal_fast(std::fma(std::fabs(x), 0.36F, 1.0F));
  float tail = 0.047943290F;
  tail = std::fma(tail, t, -0.182798924F);
  tail = std::fma(tail, t, 0.185086659F);
  tail = std::fma(tail, t, 0.023696440F);
  tail = std::fma(tail, t, 0.140766095F);
  tail = std::fma(tail, t, 0.141579891F);
  tail = std::fma(tail, t, 0.143726862F);
  tail *= t * density;
  return {x < 0 ? tail : 1 - tail, density};
}

template <class T>
__device__ __forceinline__ T gelu(T x) {
  return x * normal_at(x).below;
}

// The derivative of gelu.
template <class T>
__device__ __forceinline__ T gelu_derivative(T x) {
  const Normal<T> normal = normal_at(x);
  return normal.below + x * T(0.39894228040143267794) * normal.density;
}

}  // namespace tessera
