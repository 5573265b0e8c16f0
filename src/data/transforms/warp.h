#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "data/sample.h"
#include "data/transforms/fill.h"
#include "data/transforms/pixel_value.h"

namespace tessera {

// A point of an image, in pixels; (0, 0) is the centre of the first.
struct ImagePoint {
  double y = 0;
  double x = 0;
};

// A point belongs to the image while its nearest pixel does; image and labels must agree on that.
inline bool is_inside(const ImagePoint& at, Size size) {
  return at.y >= -0.5 && at.x >= -0.5 && at.y < size.height - 0.5 && at.x < size.width - 0.5;
}

template <class T, class Source>
std::vector<T> warp_pixels(const std::vector<T>& from, Size size, const Source& source, const std::vector<T>& fill) {
  const size_t channels = fill.size();
  std::vector<T> result(from.size());
  const auto value = [&](int y, int x, size_t c) {
    return static_cast<double>(
        from[(static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x)) * channels + c]);
  };
  size_t at = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, at += channels) {
      const ImagePoint point = source(y, x);
      if (!is_inside(point, size)) {
        std::copy(fill.begin(), fill.end(), result.begin() + static_cast<ptrdiff_t>(at));
        continue;
      }
      const double cy = std::clamp(point.y, 0.0, size.height - 1.0), cx = std::clamp(point.x, 0.0, size.width - 1.0);
      const int y0 = static_cast<int>(cy), x0 = static_cast<int>(cx);
      const int y1 = std::min(y0 + 1, size.height - 1), x1 = std::min(x0 + 1, size.width - 1);
      for (size_t c = 0; c < channels; ++c) {
        const double top = std::lerp(value(y0, x0, c), value(y0, x1, c), cx - x0);
        const double bottom = std::lerp(value(y1, x0, c), value(y1, x1, c), cx - x0);
        result[at + c] = to_pixel<T>(std::lerp(top, bottom, cy - y0));
      }
    }
  }
  return result;
}

template <class Source>
LabelMap warp_labels(const LabelMap& from, const Source& source) {
  LabelMap result(from.height, from.width, kIgnoreLabel);
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      const ImagePoint point = source(y, x);
      if (!is_inside(point, from.size())) continue;
      result.at(y, x) = from.at(static_cast<int>(std::floor(point.y + 0.5)), static_cast<int>(std::floor(point.x + 0.5)));
    }
  }
  return result;
}

// Fetches every pixel (y, x) from the point source(y, x): the image bilinearly, labels from the nearest pixel. What comes from
// outside gets the fill, and its label is ignored. The placement is no longer complete.
template <class Source>
void warp_sample(Sample& sample, const Source& source, const Fill& fill) {
  Image& image = sample.image;
  std::visit(
      [&]<class T>(std::vector<T>& pixels) { pixels = warp_pixels(pixels, image.size(), source, fill_pixel<T>(fill, image)); },
      image.pixels);
  if (sample.labels) sample.labels = warp_labels(*sample.labels, source);
  sample.placement.complete = false;
}

}  // namespace tessera
