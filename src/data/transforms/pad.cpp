#include "data/transforms/pad.h"

#include <algorithm>

namespace tessera {

void Pad::move(Canvas& canvas, Rng) const {
  const Size have = canvas.size();
  const Size want{std::max(have.height, config_.size.height), std::max(have.width, config_.size.width)};
  const int top = config_.centre ? (want.height - have.height) / 2 : 0,
            left = config_.centre ? (want.width - have.width) / 2 : 0;
  canvas.take_window(-top, -left, want, fill_);
}

}  // namespace tessera
