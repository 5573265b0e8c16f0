#pragma once
#include <cmath>

#include "kernels/philox.h"  // TSR_HOST_DEVICE

namespace tessera {

// x times the share of a normal distribution that lies below x.
template <class T>
TSR_HOST_DEVICE T gelu(T x) {
  return x * T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
}

// Its derivative.
template <class T>
TSR_HOST_DEVICE T gelu_slope(T x) {
  const T share = T(0.5) * (T(1) + std::erf(x * T(0.70710678118654752440)));
  return share + x * T(0.39894228040143267794) * std::exp(T(-0.5) * x * x);
}

}  // namespace tessera
