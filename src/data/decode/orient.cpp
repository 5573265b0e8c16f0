#include "data/decode/orient.h"

#include <algorithm>
#include <cassert>

namespace tessera {
namespace {

template <class T>
std::vector<T> turned(const std::vector<T>& in, const Image& image, int orientation) {
  const bool swapped = orientation >= 5;
  const bool flip_x = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool flip_y = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  const int height = swapped ? image.width : image.height;
  const int width = swapped ? image.height : image.width;
  const auto channels = static_cast<std::ptrdiff_t>(image.channels);

  std::vector<T> out(in.size());
  auto to = out.begin();
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      // The stored pixel: first undo the swap, then the flips of the stored axes.
      int row = swapped ? x : y;
      int column = swapped ? y : x;
      if (flip_y) row = image.height - 1 - row;
      if (flip_x) column = image.width - 1 - column;
      const auto from = in.begin() + (static_cast<std::ptrdiff_t>(row) * image.width + column) * channels;
      to = std::copy(from, from + channels, to);
    }
  }
  return out;
}

}  // namespace

Image orient(const Image& image, int orientation) {
  assert(orientation >= 1 && orientation <= 8);
  Image out;
  out.height = orientation >= 5 ? image.width : image.height;
  out.width = orientation >= 5 ? image.height : image.width;
  out.channels = image.channels;
  out.max_value = image.max_value;
  std::visit([&](const auto& pixels) { out.pixels = turned(pixels, image, orientation); }, image.pixels);
  return out;
}

}  // namespace tessera
