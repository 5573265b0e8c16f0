#include "data/draw/class_overlay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "core/class_bits.h"
#include "core/error.h"
#include "data/draw/overlay.h"

namespace tessera {
namespace {

// Whether the pixel has the class and a neighbour has not.
bool on_outline(const LabelMap& labels, int y, int x, int c) {
  constexpr std::array<std::array<int, 2>, 4> kSteps = {{{-1, 0}, {1, 0}, {0, -1}, {0, 1}}};
  return has_class(labels.at(y, x), c) && std::any_of(kSteps.begin(), kSteps.end(), [&](const auto& step) {
           const int ny = y + step[0], nx = x + step[1];
           if (ny < 0 || nx < 0 || ny >= labels.height || nx >= labels.width) return false;
           return labels.at(ny, nx) != kIgnoreLabel && !has_class(labels.at(ny, nx), c);
         });
}

// The colour of a pixel that has a class, and whether it is a line's. Of several lines the last class's is on top.
struct Drawn {
  std::array<float, 3> color{};
  bool line = false;
};

std::optional<Drawn> drawn_at(const LabelMap& labels, int y, int x, const std::vector<Color>& palette) {
  Drawn drawn;
  int count = 0;
  for (int c = 0; c < static_cast<int>(palette.size()); ++c) {
    if (!has_class(labels.at(y, x), c)) continue;
    const Color& color = palette[static_cast<size_t>(c)];
    const bool outline = on_outline(labels, y, x, c);
    if (outline) {
      const Color shade = line_color(color);
      std::copy(shade.begin(), shade.end(), drawn.color.begin());
      drawn.line = true;
    } else if (!drawn.line) {
      for (size_t i = 0; i < 3; ++i)
        drawn.color[i] =
            (drawn.color[i] * static_cast<float>(count) + static_cast<float>(color[i])) / static_cast<float>(count + 1);
    }
    ++count;
  }
  return count > 0 ? std::optional(drawn) : std::nullopt;
}

}  // namespace

Image draw_classes(const Image& image, const LabelMap& labels, const ClassTable& classes, float alpha) {
  if (!classes.multi_label) return overlay(image, labels, classes.palette, alpha);
  TSR_CHECK(image.size() == labels.size(), "overlay: the image is {} x {} pixels, its labels {} x {}", image.width,
            image.height, labels.width, labels.height);
  const int limit = label_limit(static_cast<int>(classes.palette.size()), true);
  Image out = to_display(image);
  auto to = out.bytes().begin();
  for (int y = 0; y < labels.height; ++y) {
    for (int x = 0; x < labels.width; ++x, to += 3) {
      const int16_t label = labels.at(y, x);
      if (label == kIgnoreLabel) continue;
      TSR_CHECK(label < limit, "overlay: label {} has a class without a colour, the palette has {}", label,
                classes.palette.size());
      const std::optional<Drawn> drawn = drawn_at(labels, y, x, classes.palette);
      if (!drawn && alpha < 1) continue;
      const float share = drawn && drawn->line ? 1 : alpha;
      for (int c = 0; c < 3; ++c) {
        const float color = drawn ? drawn->color[static_cast<size_t>(c)] : 0;
        to[c] = static_cast<uint8_t>(std::lround(static_cast<float>(to[c]) * (1 - share) + color * share));
      }
    }
  }
  return out;
}

}  // namespace tessera
