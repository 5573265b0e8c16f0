#include "data/draw/overlay.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"

namespace tessera {
namespace {

// Value to 0..255: value * scale + shift.
struct Stretch {
  float scale = 1;
  float shift = 0;
};

Stretch stretch_of(const Image& image, int shown) {
  float low = std::numeric_limits<float>::infinity();
  float high = -low;
  const std::vector<float>& values = image.floats();
  for (size_t i = 0; i < values.size(); ++i) {
    if (static_cast<int>(i % static_cast<size_t>(image.channels)) >= shown || !std::isfinite(values[i])) continue;
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
  if (!(high > low)) return {255.0F / image.max_value, 0.0F};
  const float scale = 255.0F / (high - low);
  return {scale, -low * scale};
}

uint8_t to_byte(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
}

// True on one side only, or the line would be two pixels wide.
bool on_boundary(const LabelMap& labels, int y, int x) {
  const int16_t own = labels.at(y, x);
  return (x + 1 < labels.width && labels.at(y, x + 1) != own) || (y + 1 < labels.height && labels.at(y + 1, x) != own);
}

}  // namespace

Color line_color(const Color& color) {
  const int brightness = (color[0] * 299 + color[1] * 587 + color[2] * 114) / 1000;
  Color line{};
  for (size_t c = 0; c < 3; ++c)
    line[c] = static_cast<uint8_t>(brightness > 90 ? color[c] / 2 : color[c] + (255 - color[c]) * 2 / 3);
  return line;
}

Image to_display(const Image& image) {
  Image out(image.height, image.width, 3);
  const int shown = image.channels >= 3 ? 3 : 1;
  const Stretch stretch = image.is_bytes() ? Stretch{} : stretch_of(image, shown);
  const size_t pixels = static_cast<size_t>(image.height) * static_cast<size_t>(image.width);
  const auto channels = static_cast<size_t>(image.channels);
  for (size_t i = 0; i < pixels; ++i) {
    for (size_t c = 0; c < 3; ++c) {
      const size_t from = i * channels + (shown == 3 ? c : 0);
      out.bytes()[i * 3 + c] =
          image.is_bytes() ? image.bytes()[from] : to_byte(image.floats()[from] * stretch.scale + stretch.shift);
    }
  }
  return out;
}

Image overlay(const Image& image, const LabelMap& labels, const std::vector<Color>& palette, float alpha) {
  TSR_CHECK(image.size() == labels.size(), "overlay: the image is {} x {} pixels, its labels {} x {}", image.width,
            image.height, labels.width, labels.height);
  Image out = to_display(image);
  auto to = out.bytes().begin();
  for (int y = 0; y < labels.height; ++y) {
    for (int x = 0; x < labels.width; ++x, to += 3) {
      const int16_t label = labels.at(y, x);
      if (label == kIgnoreLabel) continue;
      TSR_CHECK(label >= 0 && static_cast<size_t>(label) < palette.size(),
                "overlay: label {} has no colour, the palette has {}", label, palette.size());
      const Color& color = palette[label];
      if (on_boundary(labels, y, x)) {
        const Color line = line_color(color);
        std::copy(line.begin(), line.end(), to);
      } else {
        for (int c = 0; c < 3; ++c)
          to[c] = to_byte(static_cast<float>(to[c]) * (1 - alpha) + static_cast<float>(color[c]) * alpha);
      }
    }
  }
  return out;
}

}  // namespace tessera
