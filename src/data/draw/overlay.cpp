#include "data/draw/overlay.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace tessera {
namespace {

uint8_t to_byte(float value) {
  if (std::isnan(value)) return 0;
  return static_cast<uint8_t>(std::lround(std::clamp(value, 0.0F, 255.0F)));
}

}  // namespace

Color line_color(const Color& color) {
  const int brightness = (color[0] * 299 + color[1] * 587 + color[2] * 114) / 1000;
  Color line{};
  for (size_t c = 0; c < 3; ++c)
    line[c] = static_cast<uint8_t>(brightness > 90 ? color[c] / 2 : color[c] + (255 - color[c]) * 2 / 3);
  return line;
}

namespace {

template <class Rows>
Image all_rows(Size size, const Rows& rows) {
  Image out(size.height, size.width, 3);
  for (int y = 0; y < size.height; ++y)
    rows.row(y, out.bytes().data() + static_cast<size_t>(y) * static_cast<size_t>(size.width) * 3);
  return out;
}

}  // namespace

DisplayRows::DisplayRows(const Image& image) : size_(image.size()), channels_(image.channels) {
  std::visit([&](const auto& values) { pixels_ = std::span(values); }, image.pixels);
  find_stretches(image.max_value);
}

DisplayRows::DisplayRows(const StoredImage& image) : size_(image.size()), channels_(image.channels) {
  std::visit([&](const auto& values) { pixels_ = std::span(values); }, image.pixels);
  find_stretches(image.max_value);
}

void DisplayRows::find_stretches(float max_value) {
  const bool stack = channels_ > 4;
  shown_ = channels_ >= 3 ? 3 : 1;
  as_is_ = pixels_.index() == 0 && !stack;
  if (as_is_) return;
  for (size_t c = 0; c < 3; ++c) {
    if (stack) stretches_[c] = stretch_of(static_cast<int>(c), 1, max_value);
    if (!stack) stretches_[c] = c == 0 ? stretch_of(0, shown_, max_value) : stretches_[0];
  }
}

// Of channels `first` .. `first + count - 1` together. A large image is judged by a part of its pixels, evenly spread.
DisplayRows::Stretch DisplayRows::stretch_of(int first, int count, float max_value) const {
  constexpr size_t kMostPixels = 1 << 20;
  constexpr double kShare = 0.002;
  const size_t pixels = static_cast<size_t>(size_.height) * static_cast<size_t>(size_.width);
  const size_t step = pixels / kMostPixels + 1;
  std::vector<float> values;
  std::visit(
      [&](const auto& all) {
        for (size_t i = 0; i < pixels; i += step) {
          for (int c = first; c < first + count; ++c) {
            const auto value = static_cast<float>(all[i * static_cast<size_t>(channels_) + static_cast<size_t>(c)]);
            if (std::isfinite(value)) values.push_back(value);
          }
        }
      },
      pixels_);
  if (values.empty()) return {255.0F / max_value, 0.0F};
  const auto cut = static_cast<std::ptrdiff_t>(kShare * static_cast<double>(values.size() - 1));
  const auto low_at = values.begin() + cut, high_at = values.end() - 1 - cut;
  std::nth_element(values.begin(), low_at, values.end());
  const float low = *low_at;
  std::nth_element(values.begin(), high_at, values.end());
  const float high = *high_at;
  if (!(high > low)) return {255.0F / max_value, 0.0F};
  const float scale = 255.0F / (high - low);
  return {scale, -low * scale};
}

void DisplayRows::row(int y, uint8_t* to) const {
  const auto channels = static_cast<size_t>(channels_);
  const size_t begin = static_cast<size_t>(y) * static_cast<size_t>(size_.width) * channels;
  std::visit(
      [&](const auto& all) {
        for (size_t x = 0; x < static_cast<size_t>(size_.width); ++x) {
          for (size_t c = 0; c < 3; ++c) {
            const auto value = all[begin + x * channels + (shown_ == 3 ? c : 0)];
            *to++ = as_is_ ? static_cast<uint8_t>(value)
                           : to_byte(static_cast<float>(value) * stretches_[c].scale + stretches_[c].shift);
          }
        }
      },
      pixels_);
}

Image to_display(const DisplayRows& image) {
  return all_rows(image.size(), image);
}

int line_width(Size size) {
  const int longest = std::max(size.height, size.width);
  return longest < 1000 ? 1 : longest < 3000 ? 2 : 3;
}

OverlayRows::OverlayRows(const DisplayRows& image, const LabelMap& labels, const std::vector<Color>& palette,
                         const OverlayStyle& style)
    : display_(image), labels_(labels), palette_(palette), style_(style) {
  TSR_CHECK(image.size() == labels.size(), "overlay: the image is {} x {} pixels, its labels {} x {}", image.size().width,
            image.size().height, labels.width, labels.height);
}

// A line between two classes lies half on each of them, the odd pixel on the upper left side only, or it would be two pixels
// wide. An outline lies inside its region.
bool OverlayRows::on_line(int y, int x) const {
  const int after = style_.outlines_only ? style_.line : (style_.line + 1) / 2;
  const int before = style_.outlines_only ? style_.line : style_.line / 2;
  const int16_t own = labels_.at(y, x);
  for (int d = -before; d <= after; ++d) {
    if (x + d >= 0 && x + d < labels_.width && labels_.at(y, x + d) != own) return true;
    if (y + d >= 0 && y + d < labels_.height && labels_.at(y + d, x) != own) return true;
  }
  return false;
}

void OverlayRows::row(int y, uint8_t* to) const {
  display_.row(y, to);
  for (int x = 0; x < labels_.width; ++x, to += 3) {
    const int16_t label = labels_.at(y, x);
    if (label == kIgnoreLabel) continue;
    TSR_CHECK(label >= 0 && static_cast<size_t>(label) < palette_.size(), "overlay: label {} has no colour, the palette has {}",
              label, palette_.size());
    const Color& color = palette_[static_cast<size_t>(label)];
    if (style_.outlines_only) {
      if (label != style_.background && on_line(y, x)) std::copy(color.begin(), color.end(), to);
    } else if (on_line(y, x)) {
      const Color line = line_color(color);
      std::copy(line.begin(), line.end(), to);
    } else {
      for (size_t c = 0; c < 3; ++c)
        to[c] = to_byte(static_cast<float>(to[c]) * (1 - style_.alpha) + static_cast<float>(color[c]) * style_.alpha);
    }
  }
}

Image overlay(const Image& image, const LabelMap& labels, const std::vector<Color>& palette, float alpha) {
  return all_rows(labels.size(), OverlayRows(DisplayRows(image), labels, palette, {.alpha = alpha}));
}

}  // namespace tessera
