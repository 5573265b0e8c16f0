#include "data/transforms/elastic.h"

#include <algorithm>
#include <utility>

namespace tessera {

ElasticField::ElasticField(Size size, int cells, std::vector<ImagePoint> displacements)
    : points_(cells + 3),
      displacements_(std::move(displacements)),
      rows_(weights_along(size.height, cells)),
      columns_(weights_along(size.width, cells)) {}

std::vector<ElasticField::Weights> ElasticField::weights_along(int length, int cells) {
  std::vector<Weights> result(static_cast<size_t>(length));
  for (int i = 0; i < length; ++i) {
    const double place = length > 1 ? static_cast<double>(i) * cells / (length - 1) : 0;
    const int cell = std::min(static_cast<int>(place), cells - 1);
    const double t = place - cell, s = 1 - t;
    result[static_cast<size_t>(i)] = {
        cell, {s * s * s / 6, (3 * t * t * t - 6 * t * t + 4) / 6, (3 * s * s * s - 6 * s * s + 4) / 6, t * t * t / 6}};
  }
  return result;
}

ImagePoint ElasticField::operator()(int y, int x) const {
  const Weights &row = rows_[static_cast<size_t>(y)], &column = columns_[static_cast<size_t>(x)];
  ImagePoint moved{static_cast<double>(y), static_cast<double>(x)};
  for (int i = 0; i < 4; ++i) {
    const ImagePoint* points = displacements_.data() + static_cast<ptrdiff_t>(row.first + i) * points_ + column.first;
    for (size_t j = 0; j < 4; ++j) {
      const double weight = row.weight[static_cast<size_t>(i)] * column.weight[j];
      moved.y += weight * points[j].y;
      moved.x += weight * points[j].x;
    }
  }
  return moved;
}

void Elastic::apply(Sample& sample, Rng rng) const {
  if (!rng.chance(config_.probability)) return;
  const auto cells = static_cast<int>(config_.cells);
  std::vector<ImagePoint> displacements(static_cast<size_t>(cells + 3) * static_cast<size_t>(cells + 3));
  for (ImagePoint& point : displacements) point = {config_.sigma * rng.normal(), config_.sigma * rng.normal()};
  warp_sample(sample, ElasticField(sample.image.size(), cells, std::move(displacements)), fill_);
}

}  // namespace tessera
