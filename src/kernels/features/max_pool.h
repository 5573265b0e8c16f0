#pragma once
#include <ATen/core/Tensor.h>

#include <utility>

#include "core/host_device.h"

namespace tessera {

// Square windows; as torch's max_pool2d names them.
struct PoolWindow {
  int64_t kernel = 2, stride = 2, padding = 0;
  bool ceil_mode = false;  // a last window may stand partly outside
};

// The maximum of each window of features (N, C, H, W), as torch's max_pool2d. For channels_last features it keeps one byte per
// maximum for the way back (torch: eight, and the features), and each pixel gathers its gradient in a fixed order.
at::Tensor max_pool(const at::Tensor& x, const PoolWindow& window);

// The maxima, and x again for those who use it beside them (a skip): its two gradients are then added in the one pass of
// backward.
std::pair<at::Tensor, at::Tensor> max_pool_and_keep(const at::Tensor& x, const PoolWindow& window);

// Windows along one axis.
struct PoolWindows {
  int64_t kernel, stride, padding, size, out;

  // Pixels of window o: [begin, end).
  TSR_HOST_DEVICE int64_t begin(int64_t o) const { return o * stride > padding ? o * stride - padding : 0; }
  TSR_HOST_DEVICE int64_t end(int64_t o) const {
    const int64_t past = o * stride - padding + kernel;
    return past < size ? past : size;
  }
  // A pixel's number within window o.
  TSR_HOST_DEVICE int64_t tap(int64_t o, int64_t pixel) const { return pixel + padding - o * stride; }
  // Windows that hold a pixel: [first, last].
  TSR_HOST_DEVICE int64_t first(int64_t pixel) const {
    const int64_t beyond = pixel + padding - kernel + stride;  // of the window before the first, rounded up to a stride
    return beyond > 0 ? beyond / stride : 0;
  }
  TSR_HOST_DEVICE int64_t last(int64_t pixel) const {
    const int64_t o = (pixel + padding) / stride;
    return o < out ? o : out - 1;
  }
};
PoolWindows pool_windows(int64_t size, const PoolWindow& window);

}  // namespace tessera
