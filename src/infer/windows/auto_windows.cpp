#include "infer/windows/auto_windows.h"

#include <algorithm>

namespace tessera {
namespace {

constexpr double kWholePixels = 2048.0 * 2048.0;
constexpr double kWholeCrops = 16;
constexpr int64_t kPassPixels = 512 * 512;  // of a forward pass on the CPU

// What a transform makes of the size so far; {0, 0}: not known.
Size after(const ResizeConfig& resize, Size) {
  const bool one_side = resize.mode == ResizeMode::kShort || resize.mode == ResizeMode::kLong;
  return one_side ? Size{0, 0} : resize.size;
}
Size after(const RandomCropConfig& crop, Size) {
  return crop.size;
}
Size after(const PadConfig& pad, Size before) {
  if (before.height == 0) return {0, 0};
  return {std::max(before.height, pad.size.height), std::max(before.width, pad.size.width)};
}
Size after(const ScaleJitterConfig&, Size) {
  return {0, 0};
}
template <class Other>
Size after(const Other&, Size before) {
  return before;  // colours, mirror images, rotations
}

}  // namespace

Size training_crop(const std::vector<TransformConfig>& transforms) {
  constexpr Size kUsual{512, 512};
  Size size{0, 0};
  for (const TransformConfig& config : transforms) {
    size = std::visit([&](const auto& chosen) { return after(chosen, size); }, config);
  }
  return size.height > 0 ? size : kUsual;
}

EvalConfig with_windows_for(EvalConfig eval, Size crop, at::Device device, int64_t height, int64_t width) {
  if (!eval.window.size.automatic) return eval;
  const double scale = *std::max_element(eval.scales.begin(), eval.scales.end());
  const double pixels = static_cast<double>(height) * static_cast<double>(width) * scale * scale;
  const int64_t crop_pixels = int64_t{crop.height} * crop.width;
  eval.window.size = Size{0, 0};
  if (pixels <= std::max(kWholePixels, kWholeCrops * static_cast<double>(crop_pixels))) return eval;
  eval.window.size = crop;
  eval.window.stride = {std::min(eval.window.stride.height, crop.height), std::min(eval.window.stride.width, crop.width)};
  if (device.is_cpu()) eval.window.batch = std::clamp<int64_t>(kPassPixels / crop_pixels, 1, eval.window.batch);
  return eval;
}

}  // namespace tessera
