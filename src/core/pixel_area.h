#pragma once

namespace tessera {

// Rows and columns [begin, end) of an image.
struct PixelArea {
  int top = 0, left = 0, bottom = 0, right = 0;
  bool empty() const { return top >= bottom || left >= right; }
  friend bool operator==(const PixelArea&, const PixelArea&) = default;
};

}  // namespace tessera
