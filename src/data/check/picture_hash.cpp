#include "data/check/picture_hash.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace tessera {
namespace {

constexpr int kGreys = 32, kFrequencies = 8;
using Greys = std::array<double, kGreys * kGreys>;

// Means over the cells of a grid; of every cell at most some 8 x 8 pixels are looked at.
template <class T>
Greys mean_greys(const std::vector<T>& pixels, const Image& image) {
  constexpr int kPerCell = 8;
  Greys greys{};
  const int channels = image.channels, shown = channels == 3 || channels == 4 ? 3 : channels == 2 ? 1 : channels;
  for (int row = 0; row < kGreys; ++row) {
    const int top = row * image.height / kGreys, bottom = std::max(top + 1, (row + 1) * image.height / kGreys);
    const int down = std::max(1, (bottom - top) / kPerCell);
    for (int column = 0; column < kGreys; ++column) {
      const int left = column * image.width / kGreys, right = std::max(left + 1, (column + 1) * image.width / kGreys);
      const int across = std::max(1, (right - left) / kPerCell);
      double sum = 0;
      int64_t count = 0;
      for (int y = top; y < bottom; y += down) {
        for (int x = left; x < right; x += across) {
          const T* pixel =
              pixels.data() + (static_cast<size_t>(y) * static_cast<size_t>(image.width) + static_cast<size_t>(x)) *
                                  static_cast<size_t>(channels);
          for (int c = 0; c < shown; ++c) sum += pixel[c];
          ++count;
        }
      }
      greys[static_cast<size_t>(row * kGreys + column)] = sum / static_cast<double>(count * shown);
    }
  }
  return greys;
}

const std::array<double, kFrequencies * kGreys>& cosines() {
  static const auto table = [] {
    std::array<double, kFrequencies * kGreys> all{};
    for (int f = 0; f < kFrequencies; ++f) {
      for (int x = 0; x < kGreys; ++x)
        all[static_cast<size_t>(f * kGreys + x)] = std::cos(std::numbers::pi * f * (x + 0.5) / kGreys);
    }
    return all;
  }();
  return table;
}

uint64_t frequency_bits(const Greys& greys) {
  const auto& table = cosines();
  std::array<double, kGreys * kFrequencies> rows{};
  for (size_t y = 0; y < kGreys; ++y) {
    for (size_t f = 0; f < kFrequencies; ++f) {
      for (size_t x = 0; x < kGreys; ++x) rows[y * kFrequencies + f] += greys[y * kGreys + x] * table[f * kGreys + x];
    }
  }
  std::array<double, kFrequencies * kFrequencies> found{};
  for (size_t v = 0; v < kFrequencies; ++v) {
    for (size_t f = 0; f < kFrequencies; ++f) {
      for (size_t y = 0; y < kGreys; ++y) found[v * kFrequencies + f] += rows[y * kFrequencies + f] * table[v * kGreys + y];
    }
  }
  // The first is the mean, which says nothing of what is shown.
  std::array<double, kFrequencies * kFrequencies - 1> sorted{};
  std::copy(found.begin() + 1, found.end(), sorted.begin());
  std::nth_element(sorted.begin(), sorted.begin() + sorted.size() / 2, sorted.end());
  const double median = sorted[sorted.size() / 2];
  uint64_t bits = 0;
  for (size_t i = 1; i < found.size(); ++i) bits |= uint64_t{found[i] > median ? 1U : 0U} << i;
  return bits;
}

}  // namespace

PictureHash hash_picture(const Image& image) {
  PictureHash hash;
  const Greys greys = std::visit([&](const auto& pixels) { return mean_greys(pixels, image); }, image.pixels);
  hash.bits = frequency_bits(greys);
  constexpr int kSide = PictureHash::kSide, kStep = kGreys / kSide;
  std::array<double, kSide * kSide> small{};
  for (int y = 0; y < kGreys; ++y) {
    for (int x = 0; x < kGreys; ++x)
      small[static_cast<size_t>(y / kStep * kSide + x / kStep)] += greys[static_cast<size_t>(y * kGreys + x)] / (kStep * kStep);
  }
  const auto [low, high] = std::minmax_element(small.begin(), small.end());
  double sum = 0, squares = 0;
  for (size_t i = 0; i < small.size(); ++i) {
    sum += small[i];
    squares += small[i] * small[i];
    hash.grey[i] = static_cast<uint8_t>(*high > *low ? std::lround(255 * (small[i] - *low) / (*high - *low)) : 0);
  }
  const double count = small.size(), mean = sum / count;
  hash.contrast = static_cast<float>(std::sqrt(std::max(0.0, squares / count - mean * mean)) / image.max_value);
  return hash;
}

double likeness(const PictureHash& a, const PictureHash& b) {
  double sum_a = 0, sum_b = 0, aa = 0, bb = 0, ab = 0;
  for (size_t i = 0; i < a.grey.size(); ++i) {
    const double x = a.grey[i], y = b.grey[i];
    sum_a += x;
    sum_b += y;
    aa += x * x;
    bb += y * y;
    ab += x * y;
  }
  const double count = a.grey.size();
  const double spread = (aa - sum_a * sum_a / count) * (bb - sum_b * sum_b / count);
  return spread > 0 ? (ab - sum_a * sum_b / count) / std::sqrt(spread) : 0;
}

}  // namespace tessera
