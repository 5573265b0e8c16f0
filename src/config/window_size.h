#pragma once
#include "core/image.h"

namespace tessera {

// The size of windows, 0 for none, or `automatic`: whether an image is cut, and into which windows, follows from its size and
// the crop that was trained on (infer/windows/auto_windows.h). It is written "auto".
struct WindowSize : Size {
  bool automatic = true;

  WindowSize() = default;
  WindowSize(Size size) : Size(size), automatic(false) {}  // NOLINT(google-explicit-constructor): a size is one
};

}  // namespace tessera
