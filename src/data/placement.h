#pragma once
#include "data/sample.h"

namespace tessera {

// The placement of an image that nothing was done to: it fills its own frame.
inline Placement whole_image(Size size) {
  Placement placement;
  placement.original = size;
  placement.height = size.height;
  placement.width = size.width;
  return placement;
}

}  // namespace tessera
