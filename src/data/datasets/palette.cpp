#include "data/datasets/palette.h"

#include <algorithm>
#include <array>
#include <limits>

namespace tessera {
namespace {

// Chosen by eye to differ in hue and lightness, also for most colour-blind readers; the strongest contrasts come first.
constexpr std::array<Color, 13> kHandMade = {{{0, 0, 0},
                                              {230, 85, 30},
                                              {45, 125, 210},
                                              {245, 195, 40},
                                              {60, 165, 90},
                                              {150, 80, 190},
                                              {70, 200, 215},
                                              {225, 85, 150},
                                              {145, 95, 55},
                                              {175, 210, 95},
                                              {120, 130, 145},
                                              {245, 165, 150},
                                              {25, 75, 110}}};

int distance(const Color& a, const Color& b) {
  int sum = 0;
  for (size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// Colours on a grid, for data sets with many classes; it knows how far each is from all colours in use.
class Supply {
 public:
  Supply(int levels, int step, const std::vector<Color>& used) {
    for (int i = 0; i < levels * levels * levels; ++i) {
      colors_.push_back({static_cast<uint8_t>(i % levels * step), static_cast<uint8_t>(i / levels % levels * step),
                         static_cast<uint8_t>(i / (levels * levels) * step)});
    }
    nearest_.assign(colors_.size(), std::numeric_limits<int>::max());
    for (const Color& color : used) use(color);
  }

  void use(const Color& color) {
    for (size_t i = 0; i < colors_.size(); ++i) nearest_[i] = std::min(nearest_[i], distance(colors_[i], color));
  }
  bool is_used_up() const { return *std::max_element(nearest_.begin(), nearest_.end()) == 0; }
  Color farthest() const { return colors_[std::max_element(nearest_.begin(), nearest_.end()) - nearest_.begin()]; }

 private:
  std::vector<Color> colors_;
  std::vector<int> nearest_;
};

}  // namespace

std::vector<Color> default_palette(int n, bool has_background) {
  if (!has_background) {
    std::vector<Color> colors = default_palette(n + 1);
    colors.erase(colors.begin());
    return colors;
  }
  std::vector<Color> palette(kHandMade.begin(), kHandMade.begin() + std::min<int>(n, kHandMade.size()));
  Supply supply(8, 36, palette);
  while (static_cast<int>(palette.size()) < n) {
    if (supply.is_used_up()) supply = Supply(16, 17, palette);  // above 4,096 classes colours repeat
    palette.push_back(supply.farthest());
    supply.use(palette.back());
  }
  return palette;
}

}  // namespace tessera
