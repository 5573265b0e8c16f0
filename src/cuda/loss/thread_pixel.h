#pragma once
#include "cuda/loss/logit_arguments.h"

namespace tessera {

inline constexpr int kPlaneThreads = 256;

// The thread's own pixel, where each has one: those of a row go to neighbouring threads.
struct ThreadPixel {
  __device__ explicit ThreadPixel(const LogitArguments& a) {
    index = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    const int64_t row = index / a.columns.out;
    x = static_cast<int>(index - row * a.columns.out);
    image = static_cast<int>(row / a.rows.out);
    y = static_cast<int>(row - static_cast<int64_t>(image) * a.rows.out);
  }
  int64_t index;
  int image, y, x;
};

}  // namespace tessera
