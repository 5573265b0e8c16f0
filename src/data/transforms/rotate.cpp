#include "data/transforms/rotate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace tessera {
namespace {

template <class T>
T to_pixel(double value) {
  if constexpr (std::is_same_v<T, uint8_t>) return static_cast<uint8_t>(std::lround(value));
  return static_cast<T>(value);
}

// Where pixel (y, x) of the turned image comes from.
class SourcePoint {
 public:
  SourcePoint(Size size, double degrees)
      : cy_((size.height - 1) / 2.0),
        cx_((size.width - 1) / 2.0),
        cos_(std::cos(degrees * std::numbers::pi / 180)),
        sin_(std::sin(degrees * std::numbers::pi / 180)) {}
  double y(int y, int x) const { return cy_ + (x - cx_) * sin_ + (y - cy_) * cos_; }
  double x(int y, int x) const { return cx_ + (x - cx_) * cos_ - (y - cy_) * sin_; }

 private:
  double cy_, cx_, cos_, sin_;
};

// A point belongs to the image while its nearest pixel does; image and labels must agree on that.
bool is_inside(double y, double x, Size size) {
  return y >= -0.5 && x >= -0.5 && y < size.height - 0.5 && x < size.width - 0.5;
}

template <class T>
std::vector<T> rotate_pixels(const std::vector<T>& from, Size size, const SourcePoint& source, const std::vector<T>& fill) {
  const auto channels = static_cast<int>(fill.size());
  std::vector<T> result(from.size());
  const auto value = [&](int y, int x, int c) {
    return static_cast<double>(from[(static_cast<size_t>(y) * static_cast<size_t>(size.width) + static_cast<size_t>(x)) *
                                        static_cast<size_t>(channels) +
                                    static_cast<size_t>(c)]);
  };
  size_t at = 0;
  for (int y = 0; y < size.height; ++y) {
    for (int x = 0; x < size.width; ++x, at += static_cast<size_t>(channels)) {
      const double sy = source.y(y, x), sx = source.x(y, x);
      if (!is_inside(sy, sx, size)) {
        std::copy(fill.begin(), fill.end(), result.begin() + static_cast<ptrdiff_t>(at));
        continue;
      }
      const double cy = std::clamp(sy, 0.0, size.height - 1.0), cx = std::clamp(sx, 0.0, size.width - 1.0);
      const int y0 = static_cast<int>(cy), x0 = static_cast<int>(cx);
      const int y1 = std::min(y0 + 1, size.height - 1), x1 = std::min(x0 + 1, size.width - 1);
      for (int c = 0; c < channels; ++c) {
        const double top = std::lerp(value(y0, x0, c), value(y0, x1, c), cx - x0);
        const double bottom = std::lerp(value(y1, x0, c), value(y1, x1, c), cx - x0);
        result[at + static_cast<size_t>(c)] = to_pixel<T>(std::lerp(top, bottom, cy - y0));
      }
    }
  }
  return result;
}

LabelMap rotate_labels(const LabelMap& from, const SourcePoint& source) {
  LabelMap result(from.height, from.width, kIgnoreLabel);
  for (int y = 0; y < from.height; ++y) {
    for (int x = 0; x < from.width; ++x) {
      const double sy = source.y(y, x), sx = source.x(y, x);
      if (!is_inside(sy, sx, from.size())) continue;
      result.at(y, x) = from.at(static_cast<int>(std::floor(sy + 0.5)), static_cast<int>(std::floor(sx + 0.5)));
    }
  }
  return result;
}

template <class T>
std::vector<T> turn_values(const std::vector<T>& from, Size old, int unit, int quarters) {
  std::vector<T> result(from.size());
  const int width = quarters % 2 == 0 ? old.width : old.height;
  for (int y = 0; y < old.height; ++y) {
    for (int x = 0; x < old.width; ++x) {
      int ty = y, tx = x;
      if (quarters == 1) ty = old.width - 1 - x, tx = y;
      if (quarters == 2) ty = old.height - 1 - y, tx = old.width - 1 - x;
      if (quarters == 3) ty = x, tx = old.height - 1 - y;
      std::copy_n(from.data() + (static_cast<ptrdiff_t>(y) * old.width + x) * unit, unit,
                  result.data() + (static_cast<ptrdiff_t>(ty) * width + tx) * unit);
    }
  }
  return result;
}

}  // namespace

void rotate_sample(Sample& sample, double degrees, const Fill& fill) {
  Image& image = sample.image;
  const SourcePoint source(image.size(), degrees);
  std::visit([&]<class T>(
                 std::vector<T>& pixels) { pixels = rotate_pixels(pixels, image.size(), source, fill_pixel<T>(fill, image)); },
             image.pixels);
  if (sample.labels) sample.labels = rotate_labels(*sample.labels, source);
  sample.placement.complete = false;
}

void turn_quarters(Sample& sample, int quarters) {
  if (quarters == 0) return;
  Image& image = sample.image;
  const Size old = image.size();
  const Size turned = quarters % 2 == 0 ? old : Size{old.width, old.height};
  std::visit([&](auto& pixels) { pixels = turn_values(pixels, old, image.channels, quarters); }, image.pixels);
  image.height = turned.height;
  image.width = turned.width;
  if (sample.labels) {
    sample.labels->labels = turn_values(sample.labels->labels, old, 1, quarters);
    sample.labels->height = turned.height;
    sample.labels->width = turned.width;
  }
  sample.placement.complete = false;
}

void Rotate::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  if (config_.quarter_turns) {
    turn_quarters(sample, static_cast<int>(rng.below(4)));
  } else {
    rotate_sample(sample, rng.uniform(-config_.degrees, config_.degrees), fill_);
  }
}

}  // namespace tessera
