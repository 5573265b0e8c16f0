#pragma once
#include <algorithm>

#include "cuda/loss/logit_arguments.h"

namespace tessera {

// The most classes that a warp takes at once, as many as its registers hold the logits of. More are taken in stretches of as
// many. float64 is for checking, and needs no more kernels.
template <class T>
inline constexpr int kMostLanesClasses = sizeof(T) == 4 ? 256 : 32;

// The rows of cells cut into walks of `length` cells.
struct CellWalks {
  int length, per_row;
  int64_t count;
};

inline CellWalks plan_walks(const LogitArguments& a) {
  const int64_t rows = static_cast<int64_t>(a.images) * a.rows.in, cells = rows * a.columns.in;
  constexpr int64_t kEnoughWalks = 16384, kLongest = 16;  // warps for every core, few columns shared between two
  CellWalks walks{};
  walks.length = static_cast<int>(std::clamp<int64_t>(cells / kEnoughWalks, 1, kLongest));
  walks.per_row = (a.columns.in + walks.length - 1) / walks.length;
  walks.count = rows * walks.per_row;
  return walks;
}

template <class T>
struct CellOutput {
  T* parts = nullptr;        // null, or (walks, length + 1, 2, C): gradients of upper and lower logits
  double* values = nullptr;  // (N, stretches of classes, walks of an image): cross entropy
  T* sums = nullptr;         // (walks, 2, C)
  // (stretches of classes, N, H, W): the log of the sum of exponentials, and null or the sum of gradient * probability, as
  // if there were no other classes.
  T *log_sums = nullptr, *grad_dots = nullptr;
};

inline constexpr int kGatherWarps = 8;

// Adds up the parts of each logit's gradient and multiplies them by grad_out, unless that is null. A warp for each place of an
// image, classes dealt out over its lanes. Traffic: all parts once, and the gradient.
template <class T, class S>
__global__ void __launch_bounds__(32 * kGatherWarps)
    gather_parts_kernel(const T* parts, CellWalks walks, int images, int classes, int height, int width, const double* grad_out,
                        S* gradient, Strides to) {
  const int64_t place = static_cast<int64_t>(blockIdx.x) * kGatherWarps + threadIdx.x / 32;
  const int64_t line = place / width;
  const int x = static_cast<int>(place - line * width), image = static_cast<int>(line / height);
  const int y = static_cast<int>(line - static_cast<int64_t>(image) * height);
  if (image >= images) return;
  const int walk = x / walks.length, step = x - walk * walks.length;
  const int64_t column = 2 * static_cast<int64_t>(classes);  // of a walk
  // Upper logits of the own row of cells, lower ones of the row above; where a walk begins, also of the walk before it.
  const T* const own = parts + ((line * walks.per_row + walk) * (walks.length + 1) + step) * column;
  const T* const above = own - static_cast<int64_t>(walks.per_row) * (walks.length + 1) * column + classes;
  const bool shared = step == 0 && walk > 0;  // the column before is the last of that walk
  const T scale = grad_out != nullptr ? static_cast<T>(*grad_out) : T(1);
  S* const out = gradient + image * to.image + y * to.row + x * to.column;
#pragma unroll 4
  for (int c = static_cast<int>(threadIdx.x % 32); c < classes; c += 32) {
    T sum = own[c];
    if (shared) sum += own[c - column];
    if (y > 0) sum += above[c];
    if (y > 0 && shared) sum += above[c - column];
    out[c * to.channel] = static_cast<S>(sum * scale);
  }
}

}  // namespace tessera
