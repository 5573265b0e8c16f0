#pragma once
#include <cstdint>

#include "core/host_device.h"

// Pixels of channels_last features, pooled: loops that are compiled per instruction set. S is the stored type (uint16_t:
// bfloat16), sums are of type Compute<S>. Strides are in elements; channels lie side by side.
namespace tessera {

template <class S>
struct PoolLoops {
  using T = Compute<S>;
  // sum[c] = the sum over `rows` x `columns` pixels from `from` on.
  void (*sum_pixels)(const S* from, int64_t stride_y, int64_t stride_x, int64_t rows, int64_t columns, int64_t channels,
                     T* sum);
  // to[c] += scale * from[c].
  void (*add)(const T* from, T scale, int64_t channels, T* to);
  // The same of stored numbers.
  void (*add_stored)(const S* from, T scale, int64_t channels, T* to);
  // `pixels` pixels of `channels` numbers, all of them scale * from[c].
  void (*fill_pixels)(const T* from, T scale, int64_t pixels, int64_t channels, S* to);
};

}  // namespace tessera
