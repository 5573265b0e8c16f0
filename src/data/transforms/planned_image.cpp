#include "data/transforms/planned_image.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "data/simd/pixel_loops.h"
#include "data/transforms/resample_arithmetic.h"
#include "data/transforms/resample_weights.h"

namespace tessera {
namespace {

// The targets [begin, end) along one axis and what each is made of. A target that no scaling changes has one tap.
template <class Sum>
struct Axis {
  ResizeWeights<Sum> weights;
  bool scaled;
  int first, end;  // source positions that are needed

  Axis(int source, int target, int begin_target, int end_target) : scaled(source != target) {
    if (!scaled) {
      first = begin_target;
      end = end_target;
      return;
    }
    weights = bilinear_weights<Sum>(source, target, begin_target, end_target);
    first = weights.first.front();
    end = weights.first.back() + weights.count.back();
  }
  int first_of(int i) const { return scaled ? weights.first[static_cast<size_t>(i)] : first + i; }
  int count_of(int i) const { return scaled ? weights.count[static_cast<size_t>(i)] : 1; }
};

void set_taps(TapPair* to, const int32_t* weights, int count) {
  for (int j = 0; j < count; ++j) {
    to[j / 2].low[j % 2] = static_cast<int16_t>(weights[j] & ((1 << kLowWeightBits) - 1));
    to[j / 2].high[j % 2] = static_cast<int16_t>(weights[j] >> kLowWeightBits);
  }
}

// Makes rows of the seen width from rows of the part, mirrored if asked.
template <class T>
class RowResizer {
 public:
  using Sum = typename Arithmetic<T>::Sum;
  RowResizer(const Axis<Sum>& axis, const ImagePart& part, int count, bool mirrored)
      : axis_(axis), part_(part), channels_(part.image.channels), count_(count), mirrored_(mirrored) {
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (axis.scaled && channels_ == 3) make_taps();
    }
  }

  void make(const T* row, T* to) const {
    if (!axis_.scaled) {
      copy(row + static_cast<ptrdiff_t>(axis_.first - part_.left) * channels_, to);
      return;
    }
    if constexpr (std::is_same_v<T, uint8_t>) {
      if (!taps_.empty()) return resize_rgb(row, to);
    }
    for (int x = 0; x < count_; ++x) {
      const int i = mirrored_ ? count_ - 1 - x : x;
      const T* pixel = row + static_cast<ptrdiff_t>(axis_.first_of(i) - part_.left) * channels_;
      const Sum* w = axis_.weights.row(i);
      for (int c = 0; c < channels_; ++c) {
        Sum sum = Arithmetic<T>::kStart;
        for (int j = 0; j < axis_.count_of(i); ++j) sum += w[j] * static_cast<Sum>(pixel[j * channels_ + c]);
        *to++ = Arithmetic<T>::finish(sum);
      }
    }
  }

 private:
  void copy(const T* from, T* to) const {
    if (!mirrored_) {
      std::copy_n(from, static_cast<ptrdiff_t>(count_) * channels_, to);
      return;
    }
    for (int x = count_; x-- > 0; to += channels_) std::copy_n(from + static_cast<ptrdiff_t>(x) * channels_, channels_, to);
  }

  void make_taps() {
    int most = 1;
    for (const int count : axis_.weights.count) most = std::max(most, count);
    pairs_ = (most + 1) / 2;
    const int whole = (count_ + kTapGroup - 1) / kTapGroup * kTapGroup;
    offsets_.resize(static_cast<size_t>(whole));
    taps_.resize(static_cast<size_t>(whole) * static_cast<size_t>(pairs_));
    std::vector<TapPair> own;
    for (int x = 0; x < whole; ++x) {
      const int place = std::min(x, count_ - 1), i = mirrored_ ? count_ - 1 - place : place;
      offsets_[static_cast<size_t>(x)] = (axis_.first_of(i) - part_.left) * 3;
      own.assign(static_cast<size_t>(pairs_), {});
      set_taps(own.data(), axis_.weights.row(i), axis_.count_of(i));
      for (int k = 0; k < pairs_; ++k) taps_[static_cast<size_t>(tap_place(x, k, pairs_))] = own[static_cast<size_t>(k)];
    }
    // The widest taps of the last pixels may begin where others have none left, so rows near the end of the memory are moved.
    reach_ = static_cast<size_t>(*std::max_element(offsets_.begin(), offsets_.end())) + static_cast<size_t>(pairs_) * 6 +
             kReadBeyond;
  }

  void resize_rgb(const uint8_t* row, uint8_t* to) const {
    const std::vector<uint8_t>& pixels = part_.image.bytes();
    const size_t left = static_cast<size_t>(pixels.data() + pixels.size() - row);
    std::vector<uint8_t> moved;
    if (reach_ > left) {
      moved.assign(row, row + left);
      moved.resize(reach_);
      row = moved.data();
    }
    pixel_loops().resize_rgb_row(row, to, offsets_.data(), taps_.data(), count_, pairs_);
  }

 private:
  const Axis<Sum>& axis_;
  const ImagePart& part_;
  int channels_, count_;
  bool mirrored_;
  std::vector<int32_t> offsets_;
  std::vector<TapPair> taps_;
  int pairs_ = 0;
  size_t reach_ = 0;
};

// The weighted sum of rows, to which one may be added.
void sum_rows(std::vector<const uint8_t*>& rows, const int32_t* weights, size_t count, uint8_t* to,
              std::vector<TapPair>& taps) {
  taps.assign((rows.size() + 1) / 2, {});
  set_taps(taps.data(), weights, static_cast<int>(rows.size()));
  if (rows.size() % 2 != 0) rows.push_back(rows.back());  // with a weight of 0
  pixel_loops().sum_rows(rows.data(), to, taps.data(), static_cast<int>(taps.size()), count);
}
void sum_rows(const std::vector<const float*>& rows, const float* weights, size_t count, float* to, std::vector<TapPair>&) {
  std::fill_n(to, count, Arithmetic<float>::kStart);
  for (size_t j = 0; j < rows.size(); ++j) {
    for (size_t i = 0; i < count; ++i) to[i] += weights[j] * rows[j][i];
  }
}

// Gives the fill to what of the frame shows nothing of the image: `seen`, in rows and columns of the result, is left alone.
template <class T>
void fill_around(std::vector<T>& pixels, const Image& shape, const PixelArea& seen, const Fill& fill) {
  const std::vector<T> pixel = fill_pixel<T>(fill, shape);
  const auto channels = static_cast<size_t>(shape.channels), width = static_cast<size_t>(shape.width);
  std::vector<T> row;
  for (size_t x = 0; x < width; ++x) row.insert(row.end(), pixel.begin(), pixel.end());
  const auto fill_columns = [&](int y, int begin, int end) {
    if (begin >= end) return;
    std::copy_n(row.data(), static_cast<size_t>(end - begin) * channels,
                pixels.data() + (static_cast<size_t>(y) * width + static_cast<size_t>(begin)) * channels);
  };
  for (int y = 0; y < shape.height; ++y) {
    if (seen.empty() || y < seen.top || y >= seen.bottom) {
      fill_columns(y, 0, shape.width);
    } else {
      fill_columns(y, 0, seen.left);
      fill_columns(y, seen.right, shape.width);
    }
  }
}

// Where the image is seen, in rows and columns of the mirrored result.
PixelArea seen_in_result(const GeometryPlan& plan) {
  const PixelArea &frame = plan.frame(), &seen = plan.visible();
  PixelArea at{seen.top - frame.top, seen.left - frame.left, seen.bottom - frame.top, seen.right - frame.left};
  const Size size = plan.size();
  if (plan.mirrors_rows()) at = {size.height - at.bottom, at.left, size.height - at.top, at.right};
  if (plan.mirrors_columns()) at = {at.top, size.width - at.right, at.bottom, size.width - at.left};
  return at;
}

template <class T>
std::vector<T> planned_pixels(const GeometryPlan& plan, const ImagePart& part, Image& shape) {
  using Sum = typename Arithmetic<T>::Sum;
  const PixelArea &seen = plan.visible(), at = seen_in_result(plan);
  const auto channels = static_cast<size_t>(shape.channels), stride = static_cast<size_t>(shape.width) * channels;
  std::vector<T> out(shape.count());
  if (seen != plan.frame()) fill_around(out, shape, at, plan.fill());
  if (seen.empty()) return out;

  const Axis<Sum> columns(plan.image().width, plan.scaled().width, seen.left, seen.right);
  const Axis<Sum> rows(plan.image().height, plan.scaled().height, seen.top, seen.bottom);
  const int width = seen.right - seen.left, height = seen.bottom - seen.top;
  const RowResizer<T> resizer(columns, part, width, plan.mirrors_columns());
  const auto& pixels = std::get<std::vector<T>>(part.image.pixels);
  const size_t values = static_cast<size_t>(width) * channels;
  const size_t part_stride = static_cast<size_t>(part.image.width) * channels;
  const auto make_row = [&](int y, T* to) {
    resizer.make(pixels.data() + static_cast<size_t>(y - part.top) * part_stride, to);
  };

  // The rows of the new width that the next result needs, each in its place of a ring.
  const auto ring_rows = static_cast<size_t>(rows.scaled ? rows.weights.taps : 1);
  const size_t ring_stride = values + kWriteBeyond;
  std::vector<T> ring(ring_rows * ring_stride);
  std::vector<const T*> taken;
  std::vector<TapPair> taps;
  int made = rows.first;
  for (int i = 0; i < height; ++i) {
    const int y = plan.mirrors_rows() ? at.bottom - 1 - i : at.top + i;
    T* const to = out.data() + static_cast<size_t>(y) * stride + static_cast<size_t>(at.left) * channels;
    const int first = rows.first_of(i), count = rows.count_of(i);
    for (made = std::max(made, first); made < first + count; ++made) {
      make_row(made, ring.data() + static_cast<size_t>(made) % ring_rows * ring_stride);
    }
    taken.clear();
    for (int j = 0; j < count; ++j) taken.push_back(ring.data() + static_cast<size_t>(first + j) % ring_rows * ring_stride);
    if (rows.scaled) {
      sum_rows(taken, rows.weights.row(i), values, to, taps);
    } else {
      std::copy_n(taken[0], values, to);
    }
  }
  return out;
}

}  // namespace

PixelArea needed_area(const GeometryPlan& plan) {
  const PixelArea& seen = plan.visible();
  if (seen.empty()) return {};
  const Axis<float> rows(plan.image().height, plan.scaled().height, seen.top, seen.bottom);
  const Axis<float> columns(plan.image().width, plan.scaled().width, seen.left, seen.right);
  return {rows.first, columns.first, rows.end, columns.end};
}

Image planned_image(const GeometryPlan& plan, const ImagePart& part) {
  Image out;
  out.height = plan.size().height;
  out.width = plan.size().width;
  out.channels = part.image.channels;
  out.max_value = part.image.max_value;
  std::visit([&]<class T>(const std::vector<T>&) { out.pixels = planned_pixels<T>(plan, part, out); }, part.image.pixels);
  return out;
}

}  // namespace tessera
