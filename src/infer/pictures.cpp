#include "infer/pictures.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "data/batch/image_tensor.h"
#include "data/draw/class_overlay.h"
#include "data/draw/overlay.h"
#include "data/transforms/resample.h"
#include "tensor/too_large.h"

namespace tessera {
namespace {

Image ground(Size size) {
  constexpr uint8_t kGrey = 128;
  Image image(size.height, size.width, 3);
  std::fill(image.bytes().begin(), image.bytes().end(), kGrey);
  return image;
}

void paste(const Image& from, Image& onto, int top, int left) {
  const auto row = static_cast<size_t>(from.width) * 3;
  for (int y = 0; y < from.height; ++y) {
    std::copy_n(from.bytes().begin() + static_cast<int64_t>(static_cast<size_t>(y) * row), row,
                onto.bytes().begin() + (static_cast<int64_t>(top + y) * onto.width + left) * 3);
  }
}

Size fitted(Size size, int max_side) {
  const int longest = std::max(size.height, size.width);
  if (longest <= max_side) return size;
  const double factor = static_cast<double>(max_side) / longest;
  return {std::max(1, static_cast<int>(size.height * factor)), std::max(1, static_cast<int>(size.width * factor))};
}

}  // namespace

LabelMap to_label_map(const at::Tensor& classes) {
  const at::Tensor plain = classes.cpu().to(at::kShort).contiguous();
  LabelMap map(static_cast<int>(plain.size(0)), static_cast<int>(plain.size(1)));
  std::copy_n(plain.const_data_ptr<int16_t>(), map.labels.size(), map.labels.begin());
  return map;
}

Image draw_confusion(const std::vector<int64_t>& counts, int num_classes) {
  const int cell = std::clamp(300 / num_classes, 4, 60), side = cell * num_classes;
  Image picture(side, side, 3);
  for (int y = 0; y < side; ++y) {
    const int label = y / cell;
    int64_t row = 0;
    for (int c = 0; c < num_classes; ++c) row += counts[label * num_classes + c];
    for (int x = 0; x < side; ++x) {
      const double share =
          row > 0 ? static_cast<double>(counts[label * num_classes + x / cell]) / static_cast<double>(row) : 0.0;
      uint8_t* pixel = &picture.bytes()[static_cast<size_t>(y * side + x) * 3];
      const double t = std::sqrt(share);  // small confusions are what one looks for
      pixel[0] = static_cast<uint8_t>(24 + 229 * t);
      pixel[1] = static_cast<uint8_t>(28 + 203 * t);
      pixel[2] = static_cast<uint8_t>(84 - 47 * t);
    }
  }
  return picture;
}

Image join_horizontally(const std::vector<Image>& pictures, int gap) {
  Size size{1, 0};
  for (const Image& picture : pictures) size = {std::max(size.height, picture.height), size.width + picture.width + gap};
  Image joined = ground({size.height, std::max(1, size.width - gap)});
  int left = 0;
  for (const Image& picture : pictures) {
    paste(picture, joined, 0, left);
    left += picture.width + gap;
  }
  return joined;
}

Image stack_vertically(const std::vector<Image>& pictures, int gap) {
  Size size{0, 1};
  for (const Image& picture : pictures) size = {size.height + picture.height + gap, std::max(size.width, picture.width)};
  Image stacked = ground({std::max(1, size.height - gap), size.width});
  int top = 0;
  for (const Image& picture : pictures) {
    paste(picture, stacked, top, 0);
    top += picture.height + gap;
  }
  return stacked;
}

Image draw_row(const Image& image, const LabelMap& labels, const std::vector<LabelMap>& predictions, const ClassTable& classes,
               int max_side) {
  constexpr float kAlpha = 0.45F;
  const Image display = to_display(image);
  const Size size = fitted(display.size(), max_side);
  const Image small = resize_image(display, size);
  std::vector<Image> row{small, draw_classes(small, resize_labels(labels, size), classes, kAlpha)};
  for (const LabelMap& prediction : predictions)
    row.push_back(draw_classes(small, resize_labels(prediction, size), classes, kAlpha));
  return join_horizontally(row, 4);
}

std::vector<DrawnPrediction> draw_extremes(const EvalResult& result, const Evaluator& evaluator, const Predictor& predictor,
                                           const ClassTable& classes, int64_t count, bool best, bool at_original) {
  constexpr int kMaxSide = 320;
  std::vector<ImageScore> ranked = result.images;
  std::stable_sort(ranked.begin(), ranked.end(),
                   [&](const auto& a, const auto& b) { return best ? a.mean_iou > b.mean_iou : a.mean_iou < b.mean_iou; });
  // Where there are few images, none is shown as both best and worst.
  const auto half = best ? (ranked.size() + 1) / 2 : ranked.size() / 2;
  ranked.resize(std::min({ranked.size(), static_cast<size_t>(count), half}));
  std::vector<DrawnPrediction> drawn;
  for (const ImageScore& score : ranked) {
    const auto [sample, truth] = evaluator.samples().load(score.index);
    const auto placement = at_original ? std::optional(sample.placement) : std::nullopt;
    const auto maps = predictor.class_maps({image_tensor(sample.image), sample.image.max_value, {placement}});
    drawn.push_back(make_with_kept_memory([&]() -> DrawnPrediction {
      // Predictions at the original size are drawn on the original picture.
      const Image shown = at_original ? evaluator.samples().original(score.index).image : sample.image;
      return {score.id, score.mean_iou, draw_row(shown, truth.labels, {to_label_map(maps[0])}, classes, kMaxSide)};
    }));
  }
  return drawn;
}

}  // namespace tessera
