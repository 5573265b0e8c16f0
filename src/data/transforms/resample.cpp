#include "data/transforms/resample.h"

#include <algorithm>
#include <cassert>

#include "data/transforms/resample_arithmetic.h"
#include "data/transforms/resample_weights.h"

namespace tessera {
namespace {

// One row to a row of another width. Channels == 0 stands for any number, known only at run time.
template <class T, int Channels>
void resize_row(const T* from, T* to, const ResizeWeights<typename Arithmetic<T>::Sum>& weights, int any_channels) {
  using Sum = typename Arithmetic<T>::Sum;
  const int channels = Channels > 0 ? Channels : any_channels;
  const int width = static_cast<int>(weights.first.size());
  for (int x = 0; x < width; ++x) {
    const Sum* w = weights.row(x);
    const T* pixels = from + static_cast<std::ptrdiff_t>(weights.first[x]) * channels;
    const int count = weights.count[x];
    if constexpr (Channels > 0) {
      Sum sums[Channels];
      for (Sum& sum : sums) sum = Arithmetic<T>::kStart;
      for (int j = 0; j < count; ++j) {
        for (int c = 0; c < Channels; ++c) sums[c] += w[j] * static_cast<Sum>(pixels[j * Channels + c]);
      }
      for (int c = 0; c < Channels; ++c) to[x * Channels + c] = Arithmetic<T>::finish(sums[c]);
    } else {
      for (int c = 0; c < channels; ++c) {
        Sum sum = Arithmetic<T>::kStart;
        for (int j = 0; j < count; ++j) sum += w[j] * static_cast<Sum>(pixels[j * channels + c]);
        to[x * channels + c] = Arithmetic<T>::finish(sum);
      }
    }
  }
}

template <class T>
std::vector<T> resize_width(const std::vector<T>& from, int height, int width, int channels, int new_width) {
  const auto weights = bilinear_weights<typename Arithmetic<T>::Sum>(width, new_width);
  const size_t stride = static_cast<size_t>(width) * static_cast<size_t>(channels);
  const size_t new_stride = static_cast<size_t>(new_width) * static_cast<size_t>(channels);
  const auto row = channels == 3 ? resize_row<T, 3> : channels == 1 ? resize_row<T, 1> : resize_row<T, 0>;
  std::vector<T> out(static_cast<size_t>(height) * new_stride);
  for (size_t y = 0; y < static_cast<size_t>(height); ++y)
    row(from.data() + y * stride, out.data() + y * new_stride, weights, channels);
  return out;
}

// Whole rows are weighted and summed: the inner loop runs along memory, whatever the channels.
template <class T>
std::vector<T> resize_height(const std::vector<T>& from, size_t stride, int height, int new_height) {
  using Sum = typename Arithmetic<T>::Sum;
  const auto weights = bilinear_weights<Sum>(height, new_height);
  std::vector<T> out(static_cast<size_t>(new_height) * stride);
  std::vector<Sum> sums(stride);
  for (int y = 0; y < new_height; ++y) {
    const Sum* w = weights.row(y);
    std::fill(sums.begin(), sums.end(), Arithmetic<T>::kStart);
    for (int j = 0; j < weights.count[y]; ++j) {
      const T* row = from.data() + static_cast<size_t>(weights.first[y] + j) * stride;
      const Sum weight = w[j];
      Sum* sum = sums.data();
      for (size_t i = 0; i < stride; ++i) sum[i] += weight * static_cast<Sum>(row[i]);
    }
    T* to = out.data() + static_cast<size_t>(y) * stride;
    for (size_t i = 0; i < stride; ++i) to[i] = Arithmetic<T>::finish(sums[i]);
  }
  return out;
}

// Width first, whatever is cheaper: with bytes the order decides the rounding.
template <class T>
std::vector<T> resized(const std::vector<T>& from, const Image& image, Size size) {
  const size_t stride = static_cast<size_t>(size.width) * static_cast<size_t>(image.channels);
  if (size.width == image.width)
    return size.height == image.height ? from : resize_height(from, stride, image.height, size.height);
  std::vector<T> wide = resize_width(from, image.height, image.width, image.channels, size.width);
  return size.height == image.height ? wide : resize_height(wide, stride, image.height, size.height);
}

}  // namespace

Image resize_image(const Image& image, Size size) {
  assert(size.height >= 1 && size.width >= 1);
  Image out;
  out.height = size.height;
  out.width = size.width;
  out.channels = image.channels;
  out.max_value = image.max_value;
  std::visit([&](const auto& pixels) { out.pixels = resized(pixels, image, size); }, image.pixels);
  return out;
}

// The centre is found by repeated addition, not by multiplication: where it falls on the border between two pixels, rounding
// decides, and it should decide as in Pillow.
std::vector<int> nearest_positions(int source, int target, int begin, int end) {
  const double scale = static_cast<double>(source) / target;
  std::vector<int> positions;
  positions.reserve(static_cast<size_t>(end - begin));
  double centre = scale * 0.5;
  for (int i = 0; i < end; ++i, centre += scale) {
    if (i >= begin) positions.push_back(std::min(static_cast<int>(centre), source - 1));
  }
  return positions;
}

LabelMap resize_labels(const LabelMap& labels, Size size) {
  assert(size.height >= 1 && size.width >= 1);
  if (size == labels.size()) return labels;
  const std::vector<int> rows = nearest_positions(labels.height, size.height, 0, size.height);
  const std::vector<int> columns = nearest_positions(labels.width, size.width, 0, size.width);
  LabelMap out(size.height, size.width);
  int16_t* to = out.labels.data();
  for (const int row : rows) {
    const int16_t* from = labels.labels.data() + static_cast<size_t>(row) * static_cast<size_t>(labels.width);
    for (const int column : columns) *to++ = from[column];
  }
  return out;
}

}  // namespace tessera
