#include "data/transforms/resize.h"

#include <algorithm>
#include <cmath>

#include "data/transforms/window.h"

namespace tessera {
namespace {

Size scaled(Size size, double factor) {
  return {std::max(1, static_cast<int>(std::lround(size.height * factor))),
          std::max(1, static_cast<int>(std::lround(size.width * factor)))};
}

}  // namespace

void Resize::apply(Sample& sample, Rng) const {
  const Size have = sample.image.size(), want = config_.size;
  const double by_height = static_cast<double>(want.height) / have.height,
               by_width = static_cast<double>(want.width) / have.width;
  switch (config_.mode) {
    case ResizeMode::kExact: scale_sample(sample, want); return;
    case ResizeMode::kShort: scale_sample(sample, scaled(have, std::max(by_height, by_width))); return;
    case ResizeMode::kLong: scale_sample(sample, scaled(have, std::min(by_height, by_width))); return;
    case ResizeMode::kPad: scale_sample(sample, scaled(have, std::min(by_height, by_width))); break;
    case ResizeMode::kCropOrPad: break;
  }
  // Centred; floor rather than truncate, so that crops and pads put the odd pixel on the same side.
  const auto middle = [](int now, int then) { return static_cast<int>(std::floor((now - then) / 2.0)); };
  take_window(sample, middle(sample.image.height, want.height), middle(sample.image.width, want.width), want, fill_);
}

}  // namespace tessera
