#include "data/draw/legend.h"

#include <algorithm>

#include "data/draw/text.h"

namespace tessera {
namespace {

constexpr size_t kMostClasses = 60;  // more would be a page of its own
constexpr Color kInk{30, 30, 30}, kFrame{120, 120, 120};

struct Item {
  std::string name;
  Color color;
  bool has_color = true;
};

std::vector<Item> items_of(const LabelMap& labels, const ClassTable& classes) {
  std::vector<bool> occurs(classes.names.size());
  for (const int16_t label : labels.labels) {
    if (label >= 0 && static_cast<size_t>(label) < occurs.size()) occurs[static_cast<size_t>(label)] = true;
  }
  std::vector<Item> items;
  size_t left_out = 0;
  for (size_t k = 0; k < occurs.size(); ++k) {
    if (!occurs[k]) continue;
    if (items.size() < kMostClasses) {
      items.push_back({classes.names[k], classes.palette[k]});
    } else {
      ++left_out;
    }
  }
  if (left_out > 0) items.push_back({"and " + std::to_string(left_out) + " more", {}, false});
  return items;
}

// Sizes in dots of a letter; all are multiplied by the scale.
constexpr int kMargin = 4, kSquare = kLetterHeight, kLine = kLetterHeight + 4, kBetween = 8, kBeforeName = 3;

int length_of(const Item& item) {
  return (item.has_color ? kSquare + kBeforeName : 0) + count_letters(item.name) * kLetterStep;
}

void draw_square(Image& picture, int top, int left, int side, const Color& color) {
  for (int y = top; y < top + side; ++y) {
    for (int x = left; x < left + side; ++x) {
      const bool edge = y == top || x == left || y == top + side - 1 || x == left + side - 1;  // white on white would not show
      const Color& own = edge ? kFrame : color;
      std::copy(own.begin(), own.end(), picture.bytes().begin() + (static_cast<int64_t>(y) * picture.width + x) * 3);
    }
  }
}

}  // namespace

Image draw_legend(const LabelMap& labels, const ClassTable& classes, int width) {
  constexpr int kPixelsOfDot = 256;  // of the picture's longer side
  const int scale = std::max(1, std::max(labels.height, labels.width) / kPixelsOfDot);
  const std::vector<Item> items = items_of(labels, classes);
  int room = width / scale - 2 * kMargin;
  for (const Item& item : items) room = std::max(room, length_of(item));
  struct Place {
    int line, left;
  };
  std::vector<Place> places;
  int line = 0, left = 0;
  for (const Item& item : items) {
    if (left > 0 && left + length_of(item) > room) ++line, left = 0;
    places.push_back({line, left});
    left += length_of(item) + kBetween;
  }
  Image strip((2 * kMargin + (line + 1) * kLine - (kLine - kLetterHeight)) * scale,
              std::max(width, (room + 2 * kMargin) * scale), 3);
  std::fill(strip.bytes().begin(), strip.bytes().end(), uint8_t{255});
  for (size_t i = 0; i < items.size(); ++i) {
    const int top = (kMargin + places[i].line * kLine) * scale;
    int at = (kMargin + places[i].left) * scale;
    if (items[i].has_color) {
      draw_square(strip, top, at, kSquare * scale, items[i].color);
      at += (kSquare + kBeforeName) * scale;
    }
    draw_text(strip, top, at, items[i].name, scale, kInk);
  }
  return strip;
}

}  // namespace tessera
