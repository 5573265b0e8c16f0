#include "infer/original_pixels.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

// Where the original lies among the processed image's pixels.
struct Frame {
  int64_t y, x, height, width;
};

Frame frame_of(const Placement& placement) {
  TSR_CHECK(placement.complete,
            "the validation transforms cut pixels away, so predictions cannot be taken back to the original image; use resize "
            "or pad instead of a crop, or set eval.at=processed");
  const auto round = [](double value) { return static_cast<int64_t>(std::llround(value)); };
  return {round(placement.y), round(placement.x), std::max<int64_t>(1, round(placement.height)),
          std::max<int64_t>(1, round(placement.width))};
}

}  // namespace

at::Tensor cut_original(const at::Tensor& x, const Placement& placement) {
  const Frame frame = frame_of(placement);
  // The placement is that of the content as it lies in the frame, mirrored or not: cut first, then turn the content back.
  const at::Tensor content = x.slice(-2, frame.y, frame.y + frame.height).slice(-1, frame.x, frame.x + frame.width);
  return placement.flipped ? content.flip({-1}) : content;
}

bool keeps_size(const std::optional<Placement>& placement) {
  if (!placement) return true;
  const Frame frame = frame_of(*placement);
  return frame.height == placement->original.height && frame.width == placement->original.width;
}

}  // namespace tessera
