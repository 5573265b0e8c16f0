#pragma once
#include <cstdint>

#include "core/host_device.h"

namespace tessera {

struct WindowRange {
  int begin, end;
};

// Windows of `size` pixels along an axis: every `stride` pixels, the last one moved back so that it ends at the border.
struct WindowAxis {
  TSR_HOST_DEVICE WindowAxis(int64_t length, int64_t window, int64_t step)
      : size(static_cast<int>(window < length ? window : length)),
        stride(static_cast<int>(step)),
        last(static_cast<int>(length) - size),
        count((last + stride - 1) / stride + 1) {}

  TSR_HOST_DEVICE int start(int window) const { return window + 1 < count ? window * stride : last; }

  // The windows that hold this pixel.
  TSR_HOST_DEVICE WindowRange over(int pixel) const {
    const int passed = pixel < size ? 0 : (pixel - size) / stride + 1, begun = pixel / stride + 1;
    const int regular = count - 1;  // all but the last
    return {passed < regular ? passed : regular, pixel >= last ? count : begun < regular ? begun : regular};
  }

  int size, stride, last, count;
};

struct WindowGrid {
  WindowAxis rows, columns;
};

}  // namespace tessera
