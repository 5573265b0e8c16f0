#include "data/transforms/cutout.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/error.h"

namespace tessera {

void cover_box(Sample& sample, const PixelBox& box, const Fill& fill, bool ignore_labels) {
  Image& image = sample.image;
  std::visit(
      [&]<class T>(std::vector<T>& pixels) {
        const std::vector<T> pixel = fill_pixel<T>(fill, image);
        for (int y = box.top; y < box.top + box.height; ++y) {
          T* to = pixels.data() + (static_cast<ptrdiff_t>(y) * image.width + box.left) * image.channels;
          for (int x = 0; x < box.width; ++x) to = std::copy(pixel.begin(), pixel.end(), to);
        }
      },
      image.pixels);
  if (!ignore_labels || !sample.labels) return;
  for (int y = box.top; y < box.top + box.height; ++y) {
    std::fill_n(&sample.labels->at(y, box.left), box.width, kIgnoreLabel);
  }
}

Cutout::Cutout(const CutoutConfig& config, Fill fill) : config_(config), fill_(std::move(fill)) {
  TSR_CHECK_USAGE(config.min_size <= config.max_size, "cutout: min_size is {}, larger than max_size {}; swap them",
                  config.min_size, config.max_size);
}

void Cutout::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  const Size size = sample.image.size();
  const auto side = [&](int length) {
    return std::clamp(static_cast<int>(std::lround(rng.uniform(config_.min_size, config_.max_size) * length)), 1, length);
  };
  const uint32_t boxes = 1 + rng.below(static_cast<uint32_t>(config_.max_boxes));
  for (uint32_t i = 0; i < boxes; ++i) {
    PixelBox box{.height = side(size.height), .width = side(size.width)};
    box.top = static_cast<int>(rng.below(static_cast<uint32_t>(size.height - box.height + 1)));
    box.left = static_cast<int>(rng.below(static_cast<uint32_t>(size.width - box.width + 1)));
    cover_box(sample, box, fill_, config_.ignore_labels);
  }
}

}  // namespace tessera
