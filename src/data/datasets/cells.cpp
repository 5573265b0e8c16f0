#include "data/datasets/cells.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "data/datasets/value_noise.h"

namespace tessera {
namespace {

// Lengths are in pixels of a 128-pixel field and grow with the image, so every size shows the same kind of field.
constexpr double kReferenceSide = 128.0;

struct Nucleus {
  double y, x;
  double long_axis, short_axis, angle;
  double brightness;
  std::array<double, 4> wobble, phase;  // harmonics 2..5 of the outline
};

Nucleus draw_shape(Rng& rng, double scale) {
  Nucleus n{};
  n.long_axis = rng.uniform(7.0, 11.5) * scale;
  n.short_axis = n.long_axis * rng.uniform(0.65, 0.95);
  n.angle = rng.uniform(0, std::numbers::pi);
  n.brightness = rng.chance(0.2) ? rng.uniform(0.16, 0.28) : rng.uniform(0.4, 0.9);
  for (size_t k = 0; k < n.wobble.size(); ++k) {
    n.wobble[k] = rng.uniform(0, 0.05) / std::sqrt(static_cast<double>(k + 1));
    n.phase[k] = rng.uniform(0, 2 * std::numbers::pi);
  }
  return n;
}

bool overlaps(const Nucleus& a, const std::vector<Nucleus>& others) {
  return std::any_of(others.begin(), others.end(), [&](const Nucleus& b) {
    const double reach = 0.42 * (a.long_axis + a.short_axis + b.long_axis + b.short_axis);
    return std::hypot(a.y - b.y, a.x - b.x) < reach;
  });
}

// Half of the nuclei are put against an earlier one: touching cells are what makes real fields hard.
std::vector<Nucleus> place_nuclei(Size size, double scale, Rng rng) {
  const int wanted = 10 + static_cast<int>(rng.below(21));
  std::vector<Nucleus> nuclei;
  for (int tries = 0; static_cast<int>(nuclei.size()) < wanted && tries < 40 * wanted; ++tries) {
    Nucleus n = draw_shape(rng, scale);
    n.y = rng.uniform(-0.02, 1.02) * size.height;
    n.x = rng.uniform(-0.02, 1.02) * size.width;
    if (!nuclei.empty() && rng.chance(0.5)) {
      const Nucleus& by = nuclei[rng.below(static_cast<uint32_t>(nuclei.size()))];
      const double direction = rng.uniform(0, 2 * std::numbers::pi);
      const double distance = 0.46 * (n.long_axis + n.short_axis + by.long_axis + by.short_axis);
      n.y = by.y + distance * std::sin(direction);
      n.x = by.x + distance * std::cos(direction);
    }
    const bool inside = n.y > 0 && n.x > 0 && n.y < size.height && n.x < size.width;
    if (inside && !overlaps(n, nuclei)) nuclei.push_back(n);
  }
  return nuclei;
}

// Distance from the centre as a share of the outline's radius in that direction: below 1 is inside.
double relative_radius(const Nucleus& n, double y, double x) {
  const double dy = y - n.y, dx = x - n.x;
  const double u = (dx * std::cos(n.angle) + dy * std::sin(n.angle)) / n.long_axis;
  const double v = (dy * std::cos(n.angle) - dx * std::sin(n.angle)) / n.short_axis;
  const double theta = std::atan2(v, u);
  double outline = 1.0;
  for (size_t k = 0; k < n.wobble.size(); ++k) {
    outline += n.wobble[k] * std::cos(static_cast<double>(k + 2) * theta + n.phase[k]);
  }
  return std::hypot(u, v) / outline;
}

void paint_nucleus(const Nucleus& n, const Field& chromatin, Field& light, LabelMap& labels) {
  const double reach = 1.3 * n.long_axis;
  const int top = std::max(0, static_cast<int>(n.y - reach)),
            bottom = std::min(light.height, static_cast<int>(n.y + reach) + 1);
  const int left = std::max(0, static_cast<int>(n.x - reach)), right = std::min(light.width, static_cast<int>(n.x + reach) + 1);
  for (int y = top; y < bottom; ++y) {
    for (int x = left; x < right; ++x) {
      const double r = relative_radius(n, y, x);
      if (r >= 1.0) continue;
      const double dome = 0.72 + 0.28 * std::sqrt(1.0 - r * r);  // a nucleus is thickest, so brightest, in the middle
      const double texture = 1.0 + 0.45 * chromatin.at(y, x);
      light.at(y, x) = std::max(light.at(y, x), static_cast<float>(n.brightness * dome * texture));
      labels.at(y, x) = 1;
    }
  }
}

// The lamp's light: brightest somewhere near the centre, falling off to the corners.
void apply_illumination(Field& light, Rng& rng) {
  const double cy = rng.uniform(0.25, 0.75), cx = rng.uniform(0.25, 0.75), fall = rng.uniform(0.1, 0.45);
  for (int y = 0; y < light.height; ++y) {
    for (int x = 0; x < light.width; ++x) {
      const double dy = static_cast<double>(y) / light.height - cy, dx = static_cast<double>(x) / light.width - cx;
      light.at(y, x) *= static_cast<float>(1.0 - fall * (dy * dy + dx * dx) / 0.5);
    }
  }
}

// Shot noise (its variance follows the light) and the camera's read noise.
uint8_t expose(double light, double photons, double read_noise, Rng& rng) {
  const double noisy = light + std::sqrt(std::max(light, 0.0) / photons) * rng.normal() + read_noise * rng.normal();
  return static_cast<uint8_t>(std::lround(255.0 * std::clamp(noisy, 0.0, 1.0)));
}

}  // namespace

void paint_cells(Sample& sample, Size size, int channels, Rng rng) {
  const double scale = std::min(size.height, size.width) / kReferenceSide;
  Rng draw = rng.fork(0), noise = rng.fork(1);
  const Field chromatin = value_noise(size, 5.0 * scale, 3, rng.fork(2));
  const Field haze_map = value_noise(size, 60.0 * scale, 2, rng.fork(3));

  Field nuclei(size);
  LabelMap labels(size.height, size.width);
  for (const Nucleus& n : place_nuclei(size, scale, rng.fork(4))) paint_nucleus(n, chromatin, nuclei, labels);

  Field light = blur_field(nuclei, draw.uniform(0.6, 1.1) * scale);
  const Field haze = blur_field(nuclei, 9.0 * scale);  // light of the layers out of focus
  const double haze_share = draw.uniform(0.05, 0.14), floor = draw.uniform(0.03, 0.07);
  for (size_t i = 0; i < light.values.size(); ++i) {
    light.values[i] += static_cast<float>(haze_share * haze.values[i] + floor * (1.0 + 0.35 * haze_map.values[i]));
  }
  apply_illumination(light, draw);

  const double gain = draw.uniform(0.75, 1.05), photons = draw.uniform(250, 900), read_noise = draw.uniform(0.004, 0.012);
  sample.image = Image(size.height, size.width, channels);
  auto* out = sample.image.bytes().data();
  for (float value : light.values) {
    const uint8_t grey = expose(gain * value, photons, read_noise, noise);
    out = std::fill_n(out, channels, grey);
  }
  sample.labels = std::move(labels);
}

}  // namespace tessera
