#pragma once
#include "cuda/loss/cell_corners.h"
#include "cuda/loss/cell_labels.h"

namespace tessera {

template <class T>
inline constexpr int kCellWarps = sizeof(T) == 4 ? 4 : 2;  // in a block; float64 takes twice the shared memory

// Shared memory of a warp: the numbers by which its lanes tell one another about their pixels, by slot, and those that they
// keep here rather than in registers.
template <class T, int K>
struct CellMemory {
  CellLogits<T> corners[32 * K];
  LabelParts<T, K> labels;
  alignas(4 * sizeof(T)) T right[32];  // weight of the right corners
  alignas(4 * sizeof(T)) T mass[32];   // of the gradient; 0: the slot has no pixel, or it does not count
  alignas(4 * sizeof(T)) T sum[32];    // of the exponentials of logits less bound and extra
  alignas(4 * sizeof(T)) T extra[32];  // below the bound, in powers of 2
  alignas(4 * sizeof(T)) T shift[32];  // of the sums' gradient, where it is known: SoftmaxArguments::grad_dot
  T label_logit[2][32];                // less the bound, times log2(e)
  int label[32];
};

}  // namespace tessera
