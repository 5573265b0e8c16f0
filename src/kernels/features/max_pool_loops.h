#pragma once
#include <cstdint>

// Windows of channels_last features: loops that are compiled per instruction set. S is the stored type (uint16_t: bfloat16).
namespace tessera {

// One pixel's neighbours: `rows` x `columns` of them, the first at `from`, tap numbers counted from first_tap on.
template <class S>
struct WindowPixels {
  const S* from;
  int64_t stride_y, stride_x;  // in elements
  int64_t rows, columns;
  int64_t first_tap, kernel;
};

template <class S>
struct MaxPoolLoops {
  // The maximum of each channel and, unless null, its tap: of several equal ones the first, a NaN before all numbers.
  void (*forward)(const WindowPixels<S>& window, int64_t channels, S* out, uint8_t* position);
  // The gradient of a pixel out of the windows that hold it, where its taps fall by `stride` from window to window.
  void (*backward)(const WindowPixels<S>& windows, const uint8_t* position, int64_t stride, int64_t channels, S* out);
};

}  // namespace tessera
