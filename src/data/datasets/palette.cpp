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

// Eight levels on each axis: the supply for data sets with many classes.
constexpr int kStep = 36, kLevels = 8;

int distance(const Color& a, const Color& b) {
  int sum = 0;
  for (size_t c = 0; c < 3; ++c) sum += (a[c] - b[c]) * (a[c] - b[c]);
  return sum;
}

// The colour of the supply that is farthest from all of `palette`.
Color farthest_color(const std::vector<Color>& palette) {
  Color best{};
  int best_distance = -1;
  for (int i = 0; i < kLevels * kLevels * kLevels; ++i) {
    const Color color = {static_cast<uint8_t>(i % kLevels * kStep), static_cast<uint8_t>(i / kLevels % kLevels * kStep),
                         static_cast<uint8_t>(i / (kLevels * kLevels) * kStep)};
    int nearest = std::numeric_limits<int>::max();
    for (const Color& used : palette) nearest = std::min(nearest, distance(color, used));
    if (nearest > best_distance) {
      best_distance = nearest;
      best = color;
    }
  }
  return best;
}

}  // namespace

std::vector<Color> default_palette(int n) {
  std::vector<Color> palette;
  for (int k = 0; k < n; ++k) {
    const bool by_hand = k < static_cast<int>(kHandMade.size());
    palette.push_back(by_hand ? kHandMade[static_cast<size_t>(k)] : farthest_color(palette));
  }
  return palette;
}

}  // namespace tessera
