#include "data/draw/heat_map.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "data/draw/overlay.h"

namespace tessera {
namespace {

constexpr float kDarkest = 0.35F;  // of the image where the map is 0: the heat must be what the eye sees first

// Brightness rises from stop to stop, so that the map reads the same in print without colours.
constexpr std::array<std::array<float, 3>, 5> kStops{
    {{20, 10, 60}, {120, 25, 110}, {205, 65, 70}, {250, 150, 30}, {250, 250, 130}}};

std::array<float, 3> heat_color(float share) {
  const float place = share * static_cast<float>(kStops.size() - 1);
  const auto below = std::min(static_cast<size_t>(place), kStops.size() - 2);
  const float rest = place - static_cast<float>(below);
  std::array<float, 3> color{};
  for (size_t c = 0; c < 3; ++c) color[c] = kStops[below][c] * (1 - rest) + kStops[below + 1][c] * rest;
  return color;
}

float share_of(float value, float high) {
  return high > 0 && std::isfinite(value) ? std::clamp(value / high, 0.0F, 1.0F) : 0.0F;
}

uint8_t to_byte(float value) {
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
}

}  // namespace

Image heat_overlay(const Image& image, const std::vector<float>& values, float high) {
  TSR_CHECK(values.size() == static_cast<size_t>(image.height) * static_cast<size_t>(image.width),
            "heat map: the image is {} x {} pixels, the map has {} values", image.width, image.height, values.size());
  Image out = to_display(image);
  for (size_t i = 0; i < values.size(); ++i) {
    uint8_t* pixel = &out.bytes()[3 * i];
    const float grey = kDarkest * (0.299F * pixel[0] + 0.587F * pixel[1] + 0.114F * pixel[2]);
    const float share = share_of(values[i], high);
    const auto color = heat_color(share);
    const float weight = 0.8F * std::sqrt(share);
    for (size_t c = 0; c < 3; ++c) pixel[c] = to_byte(grey * (1 - weight) + color[c] * weight);
  }
  return out;
}

Image heat_grey(const std::vector<float>& values, Size size, float high) {
  Image out(size.height, size.width, 1);
  TSR_CHECK(values.size() == out.count(), "heat map: {} values for {} x {} pixels", values.size(), size.width, size.height);
  for (size_t i = 0; i < values.size(); ++i) out.bytes()[i] = to_byte(255 * share_of(values[i], high));
  return out;
}

void draw_frame(Image& image, int top, int left, Size size, const Color& color) {
  const auto set = [&](int y, int x) {
    if (y < 0 || x < 0 || y >= image.height || x >= image.width) return;
    const size_t place = 3 * (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x));
    std::copy(color.begin(), color.end(), image.bytes().begin() + static_cast<int64_t>(place));
  };
  for (int x = left; x < left + size.width; ++x) {
    set(top, x);
    set(top + size.height - 1, x);
  }
  for (int y = top; y < top + size.height; ++y) {
    set(y, left);
    set(y, left + size.width - 1);
  }
}

}  // namespace tessera
