#pragma once

namespace tessera {

// What is done to the colours of one image, already drawn; the neutral values change nothing.
struct ColorChange {
  double brightness = 0;  // added, as a share of the range
  double contrast = 1;    // factor of the values
  bool contrast_last = false;
  double saturation = 1;  // factor of S in HSV; RGB only
  double hue = 0;         // degrees; RGB only
};

}  // namespace tessera
