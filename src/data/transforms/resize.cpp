#include "data/transforms/resize.h"

#include <algorithm>
#include <cmath>

namespace tessera {
namespace {

Size scaled(Size size, double factor) {
  return {std::max(1, static_cast<int>(std::lround(size.height * factor))),
          std::max(1, static_cast<int>(std::lround(size.width * factor)))};
}

}  // namespace

void Resize::move(Canvas& canvas, Rng) const {
  const Size have = canvas.size(), want = config_.size;
  const double by_height = static_cast<double>(want.height) / have.height,
               by_width = static_cast<double>(want.width) / have.width;
  switch (config_.mode) {
    case ResizeMode::kExact: canvas.scale(want); return;
    case ResizeMode::kShort: canvas.scale(scaled(have, std::max(by_height, by_width))); return;
    case ResizeMode::kLong: canvas.scale(scaled(have, std::min(by_height, by_width))); return;
    case ResizeMode::kPad: canvas.scale(scaled(have, std::min(by_height, by_width))); break;
    case ResizeMode::kCropOrPad: break;
  }
  // Centred; floor rather than truncate, so that crops and pads put the odd pixel on the same side.
  const auto middle = [](int now, int then) { return static_cast<int>(std::floor((now - then) / 2.0)); };
  canvas.take_window(middle(canvas.size().height, want.height), middle(canvas.size().width, want.width), want, fill_);
}

}  // namespace tessera
