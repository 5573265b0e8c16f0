#include "apps/chart_picture.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/draw/text.h"

namespace tessera {
namespace {

constexpr int kScale = 2;

// The light colours of theme.css.
constexpr Color kInk{0x1d, 0x1f, 0x21}, kQuiet{0x6a, 0x6d, 0x70}, kGridColor{0xe4, 0xe3, 0xde};
constexpr std::array<Color, ChartCanvas::kCurves> kCurveColors = {
    {{0x0f, 0x76, 0x6e}, {0xc2, 0x57, 0x1a}, {0x44, 0x59, 0xb8}, {0x9a, 0x3d, 0x86}, {0x7a, 0x7a, 0x1f}, {0x54, 0x60, 0x6b}}};

const Color& color_of(int pen) {
  if (pen == ChartCanvas::kGrid) return kGridColor;
  return pen == ChartCanvas::kWish ? kQuiet : kCurveColors.at(static_cast<size_t>(pen - 1));
}

class PixelCanvas final : public ChartCanvas {
 public:
  explicit PixelCanvas(Size size) : picture_(size.height * kScale, size.width * kScale, 3) {
    std::fill(picture_.bytes().begin(), picture_.bytes().end(), uint8_t{255});
  }

  void line(const std::vector<std::pair<double, double>>& points, int pen) override {
    constexpr double kDash = 5 * kScale, kSpace = 4 * kScale;
    const double width = pen == kGrid ? kScale : 2 * kScale;
    double along = 0;  // the dashes go on around corners
    for (size_t i = 1; i < points.size(); ++i) {
      const Point from{points[i - 1].first * kScale, points[i - 1].second * kScale},
          to{points[i].first * kScale, points[i].second * kScale};
      const double length = std::hypot(to.x - from.x, to.y - from.y);
      paint(from, to, width / 2, color_of(pen),
            [&](double share) { return pen != kWish || std::fmod(along + share * length, kDash + kSpace) < kDash; });
      along += length;
    }
  }

  void mark(double x, double y, int pen, const std::string& /*hint*/) override {
    const Point at{x * kScale, y * kScale};
    paint(at, at, 3 * kScale, color_of(pen), [](double) { return true; });
  }

  void text(double x, double y, const std::string& words, Letters letters, Anchor anchor) override {
    const int width = count_letters(words) * kLetterStep * kScale;
    const int left = static_cast<int>(std::lround(x * kScale)) - width * static_cast<int>(anchor) / 2;
    const int top = static_cast<int>(std::lround(y * kScale)) - kLetterHeight * kScale;
    const Color& color = letters == Letters::kTitle ? kInk : kQuiet;
    draw_text(picture_, top, left, words, kScale, color);
    if (letters == Letters::kTitle) draw_text(picture_, top, left + 1, words, kScale, color);  // bold
  }

  Image picture() && { return std::move(picture_); }

 private:
  struct Point {
    double x, y;
  };

  // All that is nearer than `radius` to the stretch between two points, where `is_drawn` says so of the share of the way; a
  // pixel on the edge as much as it is covered.
  template <class IsDrawn>
  void paint(Point from, Point to, double radius, const Color& color, const IsDrawn& is_drawn) {
    const double dx = to.x - from.x, dy = to.y - from.y, square = dx * dx + dy * dy;
    const auto first = [&](double a, double b) { return std::max(0, static_cast<int>(std::min(a, b) - radius - 1)); };
    const auto last = [&](double a, double b, int end) {
      return std::min(end - 1, static_cast<int>(std::max(a, b) + radius + 1));
    };
    for (int y = first(from.y, to.y); y <= last(from.y, to.y, picture_.height); ++y) {
      for (int x = first(from.x, to.x); x <= last(from.x, to.x, picture_.width); ++x) {
        const double cx = x + 0.5 - from.x, cy = y + 0.5 - from.y;
        const double share = square > 0 ? std::clamp((cx * dx + cy * dy) / square, 0.0, 1.0) : 0;
        const double covered = std::clamp(radius + 0.5 - std::hypot(cx - share * dx, cy - share * dy), 0.0, 1.0);
        if (covered > 0 && is_drawn(share)) blend(y, x, color, covered);
      }
    }
  }

  void blend(int y, int x, const Color& color, double covered) {
    uint8_t* pixel =
        picture_.bytes().data() + (static_cast<size_t>(y) * static_cast<size_t>(picture_.width) + static_cast<size_t>(x)) * 3;
    for (size_t c = 0; c < 3; ++c) pixel[c] = static_cast<uint8_t>(std::lround(pixel[c] + covered * (color.at(c) - pixel[c])));
  }

  Image picture_;
};

}  // namespace

Image chart_picture(const std::vector<LineChart>& charts, int columns) {
  PixelCanvas canvas(charts_size(charts, columns));
  draw_charts(charts, columns, canvas);
  return std::move(canvas).picture();
}

}  // namespace tessera
