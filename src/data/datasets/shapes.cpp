#include "data/datasets/shapes.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data/datasets/value_noise.h"

namespace tessera {
namespace {

using std::numbers::pi;

constexpr std::array<std::string_view, 8> kFigures = {"circle", "square", "triangle", "ring",
                                                      "star",   "cross",  "diamond",  "crescent"};
using Rgb = std::array<double, 3>;

// How far (u, v) is inside the figure of radius 1, in units of the radius; negative outside. Only its sign and its slope at
// the edge matter.
double depth_inside(size_t figure, double u, double v) {
  const double r = std::hypot(u, v);
  switch (figure) {
    case 0: return 1.0 - r;
    case 1: return 0.82 - std::max(std::abs(u), std::abs(v));
    case 2: return std::min(0.5 - v, 0.5 + v / 2 - std::abs(u) * std::numbers::sqrt3 / 2);
    case 3: return 0.25 - std::abs(r - 0.75);
    case 4: {  // five points: fold the plane onto half a point, then one straight edge from tip to notch
      const double sector = pi / 5, angle = std::atan2(u, v);
      const double folded = std::abs(std::remainder(angle, 2 * sector));
      const double x = r * std::cos(folded), y = r * std::sin(folded);
      const double notch_x = 0.45 * std::cos(sector), notch_y = 0.45 * std::sin(sector);
      const double length = std::hypot(1 - notch_x, notch_y);
      return ((1 - x) * notch_y - y * (1 - notch_x)) / length;
    }
    case 5: return std::max(std::min(0.3 - std::abs(u), 0.95 - std::abs(v)), std::min(0.3 - std::abs(v), 0.95 - std::abs(u)));
    case 6: return (1.0 - std::abs(u) / 0.62 - std::abs(v)) * 0.53;
    default: return std::min(1.0 - r, std::hypot(u - 0.5, v) - 0.72);
  }
}

Rgb from_hsv(double hue, double saturation, double value) {
  Rgb color{};
  for (size_t c = 0; c < 3; ++c) {
    const double t = std::fmod(std::array{5.0, 3.0, 1.0}[c] + 6.0 * (hue - std::floor(hue)), 6.0);
    color[c] = value * (1.0 - saturation * std::clamp(std::min(t, 4.0 - t), 0.0, 1.0));
  }
  return color;
}

// Steps of the golden angle keep the hues of many classes apart.
Rgb class_color(int label, Rng& rng) {
  const double hue = 0.02 + 0.6180339887498949 * (label - 1) + rng.uniform(-0.03, 0.03);
  return from_hsv(hue, rng.uniform(0.6, 0.9), rng.uniform(0.65, 0.95));
}

class Painter {
 public:
  Painter(Size size, Rng rng) : labels_(size.height, size.width), texture_(value_noise(size, 6, 2, rng.fork(1))) {
    const Field ground = value_noise(size, std::max(size.height, size.width) / 3.0, 3, rng.fork(2));
    Rng draw = rng.fork(3);
    const double hue = draw.uniform();
    const Rgb dark = from_hsv(hue, draw.uniform(0.05, 0.25), draw.uniform(0.15, 0.35));
    const Rgb bright = from_hsv(hue + draw.uniform(-0.15, 0.15), draw.uniform(0.05, 0.25), draw.uniform(0.45, 0.75));
    for (size_t i = 0; i < ground.values.size(); ++i) {
      const double share = std::clamp(0.5 + 0.7 * ground.values[i] + 0.25 * texture_.values[i], 0.0, 1.0);
      for (size_t c = 0; c < 3; ++c) colors_.push_back(static_cast<float>(std::lerp(dark[c], bright[c], share)));
    }
  }

  void add_figure(int label, Rng rng) {
    const double side = std::min(labels_.height, labels_.width);
    const double radius = rng.uniform(0.12, 0.24) * side, turn = rng.uniform(-0.6, 0.6), squeeze = rng.uniform(0.85, 1.0);
    const double cy = rng.uniform(0.05, 0.95) * labels_.height, cx = rng.uniform(0.05, 0.95) * labels_.width;
    const Rgb color = class_color(label, rng);
    const size_t figure = static_cast<size_t>(label - 1) % kFigures.size();
    const int top = std::max(0, static_cast<int>(cy - 1.1 * radius)), bottom = static_cast<int>(cy + 1.1 * radius) + 2;
    const int left = std::max(0, static_cast<int>(cx - 1.1 * radius)), right = static_cast<int>(cx + 1.1 * radius) + 2;
    for (int y = top; y < std::min(labels_.height, bottom); ++y) {
      for (int x = left; x < std::min(labels_.width, right); ++x) {
        const double dy = (y - cy) / radius, dx = (x - cx) / radius;
        const double u = dx * std::cos(turn) + dy * std::sin(turn), v = (dy * std::cos(turn) - dx * std::sin(turn)) / squeeze;
        const double cover = std::clamp(0.5 + radius * depth_inside(figure, u, v), 0.0, 1.0);  // soft over one pixel
        if (cover > 0) blend(y, x, color, cover);
        if (cover >= 0.5) labels_.at(y, x) = static_cast<int16_t>(label);
      }
    }
  }

  void finish(Sample& sample, int channels, Rng rng) {
    sample.image = Image(labels_.height, labels_.width, channels);
    auto* out = sample.image.bytes().data();
    for (size_t i = 0; i < colors_.size(); i += 3) {
      const std::array<double, 3> noisy = {colors_[i] + 0.02 * rng.normal(), colors_[i + 1] + 0.02 * rng.normal(),
                                           colors_[i + 2] + 0.02 * rng.normal()};
      const double grey = 0.299 * noisy[0] + 0.587 * noisy[1] + 0.114 * noisy[2];
      for (int c = 0; c < channels; ++c) {
        const double value = channels == 1 ? grey : noisy[c];
        *out++ = static_cast<uint8_t>(std::lround(255.0 * std::clamp(value, 0.0, 1.0)));
      }
    }
    sample.labels = std::move(labels_);
  }

 private:
  void blend(int y, int x, const Rgb& color, double cover) {
    const size_t at = static_cast<size_t>(y) * static_cast<size_t>(labels_.width) + static_cast<size_t>(x);
    const double shade = 1.0 + 0.15 * texture_.values[at];
    for (size_t c = 0; c < 3; ++c) {
      colors_[3 * at + c] = static_cast<float>(std::lerp(colors_[3 * at + c], shade * color[c], cover));
    }
  }

  LabelMap labels_;
  Field texture_;
  std::vector<float> colors_;  // RGB, 0..1
};

}  // namespace

std::vector<std::string> shape_names(int num_classes) {
  std::vector<std::string> names = {"background"};
  for (int label = 1; label < num_classes; ++label) {
    const size_t figure = static_cast<size_t>(label - 1) % kFigures.size(),
                 round = static_cast<size_t>(label - 1) / kFigures.size();
    names.push_back(round == 0 ? std::string(kFigures[figure]) : fmt::format("{} {}", kFigures[figure], round + 1));
  }
  return names;
}

void paint_shapes(Sample& sample, Size size, int channels, int num_classes, Rng rng) {
  Painter painter(size, rng.fork(0));
  Rng draw = rng.fork(1);
  const uint32_t figures = 3 + draw.below(5);
  for (uint32_t i = 0; i < figures; ++i) {
    const int label = 1 + static_cast<int>(draw.below(static_cast<uint32_t>(num_classes - 1)));
    painter.add_figure(label, rng.fork(2 + i));
  }
  painter.finish(sample, channels, rng.fork(100));
}

}  // namespace tessera
