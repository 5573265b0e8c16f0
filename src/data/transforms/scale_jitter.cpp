#include "data/transforms/scale_jitter.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

int rounded(double length) {
  return std::max(1, static_cast<int>(std::lround(length)));
}

double ratio_kept_factor(Size image, Size base, double s, JitterSide side) {
  const double by_long = s * std::max(base.height, base.width) / std::max(image.height, image.width);
  const double by_short = s * std::min(base.height, base.width) / std::min(image.height, image.width);
  switch (side) {
    case JitterSide::kLong: return by_long;
    case JitterSide::kShort: return by_short;
    case JitterSide::kFit: break;
  }
  return std::min(by_long, by_short);
}

}  // namespace

ScaleJitter::ScaleJitter(const ScaleJitterConfig& config) : config_(config) {
  TSR_CHECK_USAGE(config.min <= config.max, "scale_jitter: min is {}, larger than max {}; swap them", config.min, config.max);
}

void ScaleJitter::move(Canvas& canvas, Rng rng) const {
  const Size image = canvas.size();
  const bool own_size = config_.base.height == 0 || config_.base.width == 0;
  const Size base = own_size ? image : config_.base;
  const double s = rng.uniform(config_.min, config_.max);
  if (!config_.keep_ratio) {
    canvas.scale({rounded(base.height * s), rounded(base.width * s)});
    return;
  }
  const double factor = own_size ? s : ratio_kept_factor(image, base, s, config_.side);
  canvas.scale({rounded(image.height * factor), rounded(image.width * factor)});
}

}  // namespace tessera
