#pragma once
#include "core/host_device.h"
#include "kernels/loss/band.h"

// Rows of channels_last features, resized: what the loops that are compiled per instruction set are given. S is the stored type
// (uint16_t: bfloat16), sums are of type Compute<S>. Strides are in elements; channels lie side by side.
namespace tessera {

// One output row: rows mixed downwards first, then columns.
template <class S>
struct ResizeRow {
  const S* top;
  const S* bottom;
  Compute<S> bottom_weight;
  int64_t stride_x, width, channels;
  AxisView<Compute<S>> columns;
  S* out;
  int64_t out_stride_x, out_width;
  Compute<S>* scratch;  // width * channels
};

// The outputs that read each input of an axis: those of input p are [begin[p], end[p]), with weight[offset[p] + k].
template <class T>
struct ReadersView {
  const int64_t *begin, *end, *offset;
  const T* weight;
};

// One row of the input's gradient, gathered from the output rows [begin, end) that read it.
template <class S>
struct ResizeGradientRow {
  const S* grad_out;  // of output row `begin`
  int64_t stride_y, stride_x, out_width, channels;
  int64_t rows;
  const Compute<S>* row_weight;
  ReadersView<Compute<S>> columns;
  S* out;  // (width, channels)
  int64_t width;
  Compute<S>* scratch;  // (out_width + 1) * channels
};

template <class S>
struct ResizeLoops {
  void (*forward)(const ResizeRow<S>& row);
  void (*backward)(const ResizeGradientRow<S>& row);
};

}  // namespace tessera
