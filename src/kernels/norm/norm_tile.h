#pragma once
#include <cstdint>

namespace tessera {

enum class NormType { kFloat, kDouble, kBFloat16 };

// rows x channels values that lie side by side, the unit of work of norm_act_cpu.cpp: what its inner loops read and write. A
// plane of a contiguous tensor is a tile of one channel. Plain pointers, as in band.h.
//
// Tables hold a number per channel, repeated until they are `width` long; those of one channel are that number.
template <class T>
struct NormTile {
  NormType type;  // of x, residual, y, grad_out and out
  int64_t rows, channels, width;
  const void *x, *residual, *y, *grad_out;
  void* out;
  // Note [Split mean]: v = (x - centre) * scale + shift.
  const T *centre, *scale, *shift;
  const T *of_grad, *of_x, *constant;  // grad_x = of_grad * g + of_x * (x - centre) + constant
  bool relu;
  double *first, *second;  // out, one per channel
};

// The loops over tiles, compiled for one instruction set.
template <class T>
struct NormLoops {
  int64_t (*width)(int64_t channels);  // of the tables
  // first: mean of x; second: sum of its squared deviations from it.
  void (*moments)(const NormTile<T>& tile);
  // out: v (+ residual), cut off at 0 with `relu`.
  void (*apply)(const NormTile<T>& tile);
  // g: grad_out where the output was above 0 (with `relu`: y says so, or else v), else 0. first: sum of g, second: sum of
  // g * (x - centre). With y, out: g.
  void (*sums)(const NormTile<T>& tile);
  // out: grad_x. With `relu` v says where grad_out counts.
  void (*backward)(const NormTile<T>& tile);
};

// The best for this processor (and ATEN_CPU_CAPABILITY, as libtorch's own).
template <class T>
const NormLoops<T>& norm_loops();

}  // namespace tessera
