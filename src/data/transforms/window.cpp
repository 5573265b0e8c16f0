#include "data/transforms/window.h"

#include <algorithm>

#include "data/transforms/resample.h"

namespace tessera {
namespace {

// `fill`: the values of one pixel.
template <class T>
std::vector<T> cut(const std::vector<T>& from, Size old, int top, int left, Size size, const std::vector<T>& fill) {
  const auto unit = static_cast<ptrdiff_t>(fill.size());
  std::vector<T> result(static_cast<size_t>(size.height) * static_cast<size_t>(size.width) * fill.size(), fill[0]);
  const bool one_value = std::all_of(fill.begin(), fill.end(), [&](T value) { return value == fill[0]; });
  for (size_t at = 0; !one_value && at < result.size(); at += fill.size()) {
    std::copy(fill.begin(), fill.end(), result.begin() + static_cast<ptrdiff_t>(at));
  }
  const int x_begin = std::max(0, left), x_end = std::min(old.width, left + size.width);
  const int y_begin = std::max(0, top), y_end = std::min(old.height, top + size.height);
  if (x_begin >= x_end) return result;
  for (int y = y_begin; y < y_end; ++y) {
    const T* source = from.data() + (static_cast<ptrdiff_t>(y) * old.width + x_begin) * unit;
    T* target = result.data() + (static_cast<ptrdiff_t>(y - top) * size.width + (x_begin - left)) * unit;
    std::copy_n(source, static_cast<ptrdiff_t>(x_end - x_begin) * unit, target);
  }
  return result;
}

}  // namespace

void take_window(Sample& sample, int top, int left, Size size, const Fill& fill) {
  Image& image = sample.image;
  const Size old = image.size();
  if (top == 0 && left == 0 && size == old) return;
  std::visit([&]<class T>(std::vector<T>& pixels) { pixels = cut(pixels, old, top, left, size, fill_pixel<T>(fill, image)); },
             image.pixels);
  image.height = size.height;
  image.width = size.width;
  if (sample.labels) {
    LabelMap labels;
    labels.labels = cut(sample.labels->labels, old, top, left, size, {kIgnoreLabel});
    labels.height = size.height;
    labels.width = size.width;
    sample.labels = std::move(labels);
  }
  move_placement(sample.placement, top, left, size);
}

void scale_sample(Sample& sample, Size size) {
  const Size old = sample.image.size();
  if (size == old) return;
  sample.image = resize_image(sample.image, size);
  if (sample.labels) sample.labels = resize_labels(*sample.labels, size);
  scale_placement(sample.placement, old, size);
}

void move_placement(Placement& place, int top, int left, Size size) {
  place.y -= top;
  place.x -= left;
  constexpr double kSlack = 1e-6;  // scaling leaves rounding in the placement
  const bool inside = place.y >= -kSlack && place.x >= -kSlack && place.y + place.height <= size.height + kSlack &&
                      place.x + place.width <= size.width + kSlack;
  if (!inside) place.complete = false;
}

void scale_placement(Placement& place, Size from, Size to) {
  const double fy = static_cast<double>(to.height) / from.height, fx = static_cast<double>(to.width) / from.width;
  place.y *= fy;
  place.height *= fy;
  place.x *= fx;
  place.width *= fx;
}

}  // namespace tessera
