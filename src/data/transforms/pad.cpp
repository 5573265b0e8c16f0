#include "data/transforms/pad.h"

#include <algorithm>

#include "data/transforms/window.h"

namespace tessera {

void Pad::apply(Sample& sample, Rng) const {
  const Size have = sample.image.size();
  const Size want{std::max(have.height, config_.size.height), std::max(have.width, config_.size.width)};
  const int top = config_.centre ? (want.height - have.height) / 2 : 0,
            left = config_.centre ? (want.width - have.width) / 2 : 0;
  take_window(sample, -top, -left, want, fill_);
}

}  // namespace tessera
