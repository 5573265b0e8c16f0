#include "data/transforms/canvas.h"

#include "data/transforms/flip.h"
#include "data/transforms/window.h"

namespace tessera {

std::vector<int64_t> SampleCanvas::count_classes(int top, int left, Size size) const {
  std::vector<int64_t> counts;
  for (int y = top; y < top + size.height; ++y) {
    for (int x = left; x < left + size.width; ++x) {
      const int16_t label = sample_.labels->at(y, x);
      if (label < 0) continue;
      const auto at = static_cast<size_t>(label);
      if (at >= counts.size()) counts.resize(at + 1);
      ++counts[at];
    }
  }
  return counts;
}

void SampleCanvas::scale(Size size) {
  scale_sample(sample_, size);
}
void SampleCanvas::take_window(int top, int left, Size size, const Fill& fill) {
  tessera::take_window(sample_, top, left, size, fill);
}
void SampleCanvas::flip_horizontal() {
  tessera::flip_horizontal(sample_);
}
void SampleCanvas::flip_vertical() {
  tessera::flip_vertical(sample_);
}

}  // namespace tessera
