#include "data/transforms/geometry_plan.h"

#include <algorithm>

#include "data/transforms/flip.h"
#include "data/transforms/resample.h"
#include "data/transforms/window.h"

namespace tessera {
namespace {

PixelArea whole_of(Size size) {
  return {0, 0, size.height, size.width};
}

PixelArea common(const PixelArea& a, const PixelArea& b) {
  return {std::max(a.top, b.top), std::max(a.left, b.left), std::min(a.bottom, b.bottom), std::min(a.right, b.right)};
}

}  // namespace

GeometryPlan::GeometryPlan(Size image, const StoredLabels* labels)
    : image_(image),
      scaled_(image),
      frame_(whole_of(image)),
      visible_(frame_),
      placement_(whole_image(image)),
      labels_(labels) {}

// A window of what the mirrored frame shows, as it lies in the scaled image.
PixelArea GeometryPlan::in_scaled(int top, int left, Size size) const {
  const int y = mirrors_rows_ ? frame_.bottom - top - size.height : frame_.top + top;
  const int x = mirrors_columns_ ? frame_.right - left - size.width : frame_.left + left;
  return {y, x, y + size.height, x + size.width};
}

void GeometryPlan::scale(Size size) {
  if (size == frame_size()) return;
  possible_ = possible_ && whole_;
  scale_placement(placement_, frame_size(), size);
  scaled_ = size;
  frame_ = visible_ = whole_of(size);
  whole_ = false;
}

void GeometryPlan::take_window(int top, int left, Size size, const Fill& fill) {
  if (top == 0 && left == 0 && size == frame_size()) return;
  whole_ = false;
  const PixelArea window = in_scaled(top, left, size);
  if (common(window, frame_) != window) {
    possible_ = possible_ && (!filled_ || fill == fill_);
    filled_ = true;
    fill_ = fill;
  }
  visible_ = common(visible_, window);
  frame_ = window;
  move_placement(placement_, top, left, size);
}

void GeometryPlan::flip_horizontal() {
  whole_ = false;
  mirrors_columns_ = !mirrors_columns_;
  tessera::flip_horizontal(placement_, frame_size().width);
}

void GeometryPlan::flip_vertical() {
  whole_ = false;
  mirrors_rows_ = !mirrors_rows_;
  tessera::flip_vertical(placement_, frame_size().height);
}

// In rows and columns of the mask itself: enlarged, each of them stands for several of the window.
std::vector<int64_t> GeometryPlan::count_classes(int top, int left, Size size) const {
  const PixelArea window = common(in_scaled(top, left, size), visible_);
  std::vector<int64_t> counts;
  if (window.empty()) return counts;
  const std::vector<int> rows = nearest_positions(image_.height, scaled_.height, window.top, window.bottom);
  const std::vector<int> columns = nearest_positions(image_.width, scaled_.width, window.left, window.right);
  const int first = columns.front(), end = columns.back() + 1;
  std::vector<int64_t> before(static_cast<size_t>(end - first) + 1);  // columns of the window left of each column of the mask
  for (const int column : columns) ++before[static_cast<size_t>(column - first) + 1];
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  const auto add = [&](int16_t label, int64_t pixels) {
    if (label < 0) return;
    const auto at = static_cast<size_t>(label);
    if (at >= counts.size()) counts.resize(at + 1);
    counts[at] += pixels;
  };
  with_stored(*labels_, [&](const auto* values, const auto& class_of) {
    for (size_t i = 0; i < rows.size();) {
      size_t next = i;
      while (next < rows.size() && rows[next] == rows[i]) ++next;
      const auto* row = values + static_cast<ptrdiff_t>(rows[i]) * image_.width + first;
      const auto length = static_cast<size_t>(end - first);
      for (size_t x = 0; x < length;) {
        const size_t run = run_length(row + x, length - x);
        add(class_of(row[x]), (before[x + run] - before[x]) * static_cast<int64_t>(next - i));
        x += run;
      }
      i = next;
    }
  });
  return counts;
}

LabelMap planned_labels(const GeometryPlan& plan, const StoredLabels& labels) {
  const PixelArea &frame = plan.frame(), &seen = plan.visible();
  const int height = frame.bottom - frame.top, width = frame.right - frame.left;
  LabelMap out;
  out.height = height;
  out.width = width;
  const size_t pixels = static_cast<size_t>(height) * static_cast<size_t>(width);
  if (seen != frame || seen.empty()) {
    out.labels.assign(pixels, kIgnoreLabel);
  } else {
    out.labels.resize(pixels);
  }
  if (seen.empty()) return out;
  const std::vector<int> rows = nearest_positions(plan.image().height, plan.scaled().height, seen.top, seen.bottom);
  std::vector<int> columns = nearest_positions(plan.image().width, plan.scaled().width, seen.left, seen.right);
  const int left = plan.mirrors_columns() ? frame.right - seen.right : seen.left - frame.left;
  if (plan.mirrors_columns()) std::reverse(columns.begin(), columns.end());
  with_stored(labels, [&](const auto* values, const auto& class_of) {
    const int16_t* last = nullptr;
    for (size_t i = 0; i < rows.size(); ++i) {
      const int y = seen.top - frame.top + static_cast<int>(i);
      int16_t* to = out.labels.data() + static_cast<ptrdiff_t>(plan.mirrors_rows() ? height - 1 - y : y) * width + left;
      if (last != nullptr && rows[i] == rows[i - 1]) {
        std::copy_n(last, columns.size(), to);
      } else {
        const auto* row = values + static_cast<ptrdiff_t>(rows[i]) * plan.image().width;
        for (size_t x = 0; x < columns.size(); ++x) to[x] = class_of(row[columns[x]]);
      }
      last = to;
    }
  });
  return out;
}

}  // namespace tessera
