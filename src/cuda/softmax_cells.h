#pragma once
#include "cuda/cell_walks.h"
#include "cuda/softmax_arguments.h"

// Note [Cells on a GPU]
// A warp walks along a row of cells (see upsample_axis.h), classes dealt out over its lanes, K a lane. The logits of a cell's
// corners sit in registers, less their corner's largest: the bilinear mix of those four is an upper bound of a pixel's largest
// logit, so most pixels need no maximum of their own. Rows of a cell are interpolated first, then its pixels, four at a time.
// Exponentials are summed over the warp and at once become the gradients of the corners, also in registers. The right
// corners' gradients go on as the left ones of the next cell; finished columns are written as two parts, of the upper and
// the lower logits, which gather_parts_kernel adds up in a fixed order. So each pixel is computed once and nothing is added
// in an order that could change.

namespace tessera {

inline constexpr int kPixelGroup = 4;  // pixels of a row that are worked on together

template <class T>
struct CellOutput {
  T* parts;        // null, or (walks, length + 1, 2, C): gradients of upper and lower logits
  double* values;  // (walks): cross entropy
  T* sums;         // (walks, 2, C)
};

// Sums four numbers over the warp; every lane gets all.
template <class T>
__device__ __forceinline__ void warp_sum_group(T (&s)[kPixelGroup], int lane) {
  const bool upper = (lane & 16) != 0, odd = (lane & 8) != 0;
  const T given0 = __shfl_xor_sync(kAllLanes, upper ? s[0] : s[2], 16);
  const T given1 = __shfl_xor_sync(kAllLanes, upper ? s[1] : s[3], 16);
  const T even_sum = (upper ? s[2] : s[0]) + given0, odd_sum = (upper ? s[3] : s[1]) + given1;
  T sum = (odd ? odd_sum : even_sum) + __shfl_xor_sync(kAllLanes, odd ? even_sum : odd_sum, 8);
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
#pragma unroll
  for (int i = 0; i < kPixelGroup; ++i) s[i] = __shfl_sync(kAllLanes, sum, i * 8);
}

// What a pixel's label adds at the four corners: upper left, lower left, upper right, lower right.
template <class T>
struct CornerParts {
  T at[4];
};

// Shared memory of a warp: what labels add at the corners (or to the sums) by class, and the same of a chunk's pixels.
template <class T, int K>
struct LabelParts {
  CornerParts<T> of_class[32 * K];
  CornerParts<T> of_lane[32];
};

template <class T, int K, SoftmaxTask kTask, bool kKnown>
class CellWalk {
 public:
  __device__ CellWalk(const SoftmaxArguments<T>& a, int first_class, LabelParts<T, K>& labels)
      : a_(a), lane_(static_cast<int>(threadIdx.x % 32)), first_class_(first_class), labels_(labels) {}

  __device__ void run(const CellWalks& walks, int64_t walk, const CellOutput<T>& to) {
    const int64_t row = walk / walks.per_row;
    image_ = static_cast<int>(row / a_.rows.in);
    top_ = static_cast<int>(row % a_.rows.in);
    gradient_ = kTask != SoftmaxTask::kSums && to.parts != nullptr;
    const int begin = static_cast<int>(walk % walks.per_row) * walks.length;
    const int end = begin + walks.length < a_.columns.in ? begin + walks.length : a_.columns.in;
#pragma unroll
    for (int k = 0; k < K; ++k) labels_.of_class[lane_ + 32 * k] = {};
    __syncwarp();
    load_column(1, begin);
    clear_side(1);
#pragma unroll
    for (int k = 0; k < K; ++k) sums_[k] = 0;
    for (int column = begin; column < end; ++column) {
      move_right();
      load_column(1, a_.columns.second(column));
      clear_side(1);
      visit_cell(column);
      if (gradient_) write_side(0, to.parts + part_offset(walks, walk, column - begin));
    }
    if (gradient_) write_side(1, to.parts + part_offset(walks, walk, end - begin));
    if (kTask == SoftmaxTask::kCrossEntropy && !kKnown) {
      value_ = warp_sum(value_);
      if (lane_ == 0) to.values[walk] = value_;
    }
    if (kTask == SoftmaxTask::kSums) write_sums(to.sums + walk * 2 * a_.classes);
  }

 private:
  __device__ int class_of(int k) const {
    return first_class_ + lane_ + 32 * k;
  }
  __device__ int64_t part_offset(const CellWalks& walks, int64_t walk, int column) const {
    return (walk * (walks.length + 1) + column) * 2 * a_.classes;
  }

  // Side 0: left corners, 1: right ones; [side][0]: upper, [side][1]: lower.
  __device__ void load_column(int side, int column) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      const int64_t place = a_.offset(image_, d == 0 ? top_ : a_.rows.second(top_), column);
      T most = kNoLogit<T>;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int c = class_of(k);
        logit_[side][d][k] = c < a_.classes ? a_.logit(place + c * a_.strides.channel) : kNoLogit<T>;
        most = logit_[side][d][k] > most ? logit_[side][d][k] : most;
      }
      most_[side][d] = most = warp_max(most);
      T spread = 0;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int c = class_of(k);
        const T below = logit_[side][d][k] - most;
        if (kTask == SoftmaxTask::kCrossEntropy && a_.smoothing > 0 && c < a_.classes) spread += a_.spread(c) * below;
        logit_[side][d][k] = c < a_.classes ? below * kLog2E<T> : kNoLogit<T>;
      }
      spread_[side][d] = kTask == SoftmaxTask::kCrossEntropy && a_.smoothing > 0 ? warp_sum(spread) : T(0);
    }
  }

  __device__ void clear_side(int side) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
#pragma unroll
      for (int k = 0; k < K; ++k) slope_[side][d][k] = 0;
    }
  }

  __device__ void move_right() {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      most_[0][d] = most_[1][d];
      spread_[0][d] = spread_[1][d];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        logit_[0][d][k] = logit_[1][d][k];
        slope_[0][d][k] = slope_[1][d][k];
      }
    }
  }

  __device__ void visit_cell(int column) {
    const int y_end = a_.rows.begin(top_ + 1), x_begin = a_.columns.begin(column), x_end = a_.columns.begin(column + 1);
    const int width = x_end - x_begin;
    if (width <= 0) return;
    const int across = width < 32 ? width : 32, down = 32 / across;  // pixels of a chunk, one a lane
    for (int y = a_.rows.begin(top_); y < y_end; y += down) {
      for (int x = x_begin; x < x_end; x += across) {
        visit_chunk(column, x, x + across < x_end ? x + across : x_end, y, y + down < y_end ? y + down : y_end);
      }
    }
    take_label_parts();
  }

  // What a lane knows of its own pixel of a chunk.
  struct Pixel {
    PixelTargets<T> target;
    T right = 0, down = 0;  // weights
    T label_logit[2];       // less the bound, times log2(e)
    T bound = 0;            // of its logits
    T sum = 1;              // of the exponentials of logits less bound and extra
    T extra = 0;            // below the bound, in powers of 2
  };

  __device__ void visit_chunk(int column, int x_begin, int x_end, int y_begin, int y_end) {
    const int width = x_end - x_begin;
    Pixel own;
    const int y = y_begin + lane_ / width, x = x_begin + lane_ % width;
    const int64_t index = (static_cast<int64_t>(image_) * a_.rows.out + y) * a_.columns.out + x;
    if (y < y_end) read_pixel(own, column, y, x, index);
    const unsigned counted = __ballot_sync(kAllLanes, own.target.counts());
    if (counted == 0) return;
    for (int row = y_begin; row < y_end; ++row) {
      const int first = (row - y_begin) * width;
      begin_row(__shfl_sync(kAllLanes, own.down, first));
      for (int i = 0; i < width; i += kPixelGroup) {
        const int last = i + kPixelGroup < width ? i + kPixelGroup : width;
        if ((counted >> (first + i) & ((1u << (last - i)) - 1)) != 0) visit_group(own, first + i, first + last);
      }
      end_row();
    }
    finish_pixels(own);
  }

  __device__ void read_pixel(Pixel& own, int column, int y, int x, int64_t index) {
    own.target.read(a_, image_, index);
    own.down = static_cast<T>(a_.rows.weight(y, top_));
    own.right = static_cast<T>(a_.columns.weight(x, column));
    if (!own.target.counts()) return;
    const int bottom = a_.rows.second(top_), next = a_.columns.second(column);
    own.bound = mix(own, most_[0][0], most_[1][0], most_[0][1], most_[1][1]);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (own.target.label[i] < 0) continue;
      const int64_t along = own.target.label[i] * a_.strides.channel;
      own.label_logit[i] = kLog2E<T> * mix(own, a_.logit(a_.offset(image_, top_, column) + along) - most_[0][0],
                                           a_.logit(a_.offset(image_, top_, next) + along) - most_[1][0],
                                           a_.logit(a_.offset(image_, bottom, column) + along) - most_[0][1],
                                           a_.logit(a_.offset(image_, bottom, next) + along) - most_[1][1]);
    }
    if (kKnown) own.extra = (a_.log_sum[index] - own.bound) * kLog2E<T>;
    if (kKnown && kTask == SoftmaxTask::kSumsGradient) own.bound = a_.slope_sum[index];  // all that is still needed of it
  }

  __device__ static T mix(const Pixel& p, T top_left, T top_right, T bottom_left, T bottom_right) {
    const T top = top_left + p.right * (top_right - top_left), bottom = bottom_left + p.right * (bottom_right - bottom_left);
    return top + p.down * (bottom - top);
  }

  __device__ void begin_row(T down) {
    down_ = down;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      left_[k] = logit_[0][0][k] + down * (logit_[0][1][k] - logit_[0][0][k]);
      step_[k] = logit_[1][0][k] + down * (logit_[1][1][k] - logit_[1][0][k]) - left_[k];
      row_slope_[0][k] = row_slope_[1][k] = 0;
    }
  }

  __device__ void end_row() {
    if (!gradient_) return;
#pragma unroll
    for (int side = 0; side < 2; ++side) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        slope_[side][0][k] += (T(1) - down_) * row_slope_[side][k];
        slope_[side][1][k] += down_ * row_slope_[side][k];
      }
    }
  }

  // Pixels of lanes [begin, end), at most kPixelGroup, all in one row.
  __device__ void visit_group(Pixel& own, int begin, int end) {
    T right[kPixelGroup], e[kPixelGroup][K], sum[kPixelGroup], extra[kPixelGroup] = {};
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) {
      const int lane =
          begin + q < end ? begin + q : begin;  // a pixel past the end is one more of the first, and counts nothing
      right[q] = __shfl_sync(kAllLanes, own.right, lane);
      if (kKnown) extra[q] = __shfl_sync(kAllLanes, own.extra, lane);
      sum[q] = exponentials(right[q], extra[q], e[q]);
    }
    if (!kKnown) {
      warp_sum_group(sum, lane_);
#pragma unroll
      for (int q = 0; q < kPixelGroup; ++q) {
        // The bound was far above the largest logit, and precision is gone.
        if (sum[q] < kTiny) {
          T most = kNoLogit<T>;
#pragma unroll
          for (int k = 0; k < K; ++k) most = left_[k] + right[q] * step_[k] > most ? left_[k] + right[q] * step_[k] : most;
          extra[q] = warp_max(most);
          sum[q] = warp_sum(exponentials(right[q], extra[q], e[q]));
        }
        if (lane_ == begin + q && begin + q < end) {
          own.sum = sum[q];
          own.extra = extra[q];
        }
      }
    }
    T shift[kPixelGroup] = {};
    if (kTask == SoftmaxTask::kSumsGradient) slope_sums(own, begin, end, e, extra, shift);
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) {
      const bool within = begin + q < end;
      const T mass = __shfl_sync(kAllLanes, kTask == SoftmaxTask::kCrossEntropy ? own.target.mass : own.target.share,
                                 within ? begin + q : begin);
      const T scale = within ? (kKnown ? mass : divide_fast(mass, sum[q])) : T(0);
      if (kTask == SoftmaxTask::kSums) {
#pragma unroll
        for (int k = 0; k < K; ++k) sums_[k] += scale * e[q][k];
        continue;
      }
      const T to_right = scale * right[q], to_left = scale - to_right;
      const T mean = kKnown ? shift[q] : divide_fast(shift[q], sum[q]);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const T g = kTask == SoftmaxTask::kSumsGradient ? e[q][k] * (class_slope(k) - mean) : e[q][k];
        row_slope_[0][k] += to_left * g;
        row_slope_[1][k] += to_right * g;
      }
    }
  }

  __device__ T exponentials(T right, T extra, T (&e)[K]) const {
    T sum = 0;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      e[k] = exp2_fast(left_[k] + right * step_[k] - extra);
      sum += e[k];
    }
    return sum;
  }

  __device__ T class_slope(int k) const {
    return class_of(k) < a_.classes ? a_.slopes[a_.classes + class_of(k)] : T(0);
  }

  // The sum of slope * exponential over all classes, with the label's own slope.
  __device__ void slope_sums(const Pixel& own, int begin, int end, const T (&e)[kPixelGroup][K], const T (&extra)[kPixelGroup],
                             T (&shift)[kPixelGroup]) {
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) {
      const int lane = begin + q < end ? begin + q : begin;
      if (kKnown) {
        shift[q] = __shfl_sync(kAllLanes, own.bound, lane);
        continue;
      }
#pragma unroll
      for (int k = 0; k < K; ++k) shift[q] += class_slope(k) * e[q][k];
      const int label = __shfl_sync(kAllLanes, own.target.label[0], lane);
      const T logit = __shfl_sync(kAllLanes, own.label_logit[0], lane);
      if (lane_ == 0 && label >= 0) shift[q] += a_.slopes[label] * exp2_fast(logit - extra[q]);
    }
    if (!kKnown) warp_sum_group(shift, lane_);
  }

  // The labels' own part, for all pixels of the chunk at once.
  __device__ void finish_pixels(const Pixel& own) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (i == 1 && a_.other_labels == nullptr) continue;
      const int label = own.target.label[i];
      T amount = 0;
      if (label >= 0) {
        const T probability = exp2_fast(own.label_logit[i] - own.extra) / (kKnown ? T(1) : own.sum);
        if (kTask == SoftmaxTask::kCrossEntropy) {
          amount = -own.target.weight[i];
          value_ -= own.target.weight[i] * own.label_logit[i] * kLn2<T>;
        } else {
          amount = kTask == SoftmaxTask::kSums ? probability : a_.slopes[label] * probability;
        }
      }
      const T right = amount * own.right, left = amount - right;
      if (gradient_ || kTask == SoftmaxTask::kSums) {
        add_label_parts(label, {(T(1) - own.down) * left, own.down * left, (T(1) - own.down) * right, own.down * right});
      }
    }
    if (kTask == SoftmaxTask::kCrossEntropy && own.target.counts()) {
      value_ += own.target.mass * kLn2<T> * (log2(own.sum) + own.extra);
      if (a_.smoothing > 0) value_ -= own.target.share * mix(own, spread_[0][0], spread_[1][0], spread_[0][1], spread_[1][1]);
    }
    if (kTask == SoftmaxTask::kCrossEntropy && a_.smoothing > 0 && gradient_) spread_gradient(own);
  }

  // Pixels with the same label are added one after another, in the order of lanes.
  __device__ void add_label_parts(int label, const CornerParts<T>& parts) {
    labels_.of_lane[lane_] = parts;
    const unsigned same = __match_any_sync(kAllLanes, label);
    __syncwarp();
    const int place = label - first_class_;
    if (place >= 0 && place < 32 * K && (same & ((1u << lane_) - 1)) == 0) {
      CornerParts<T> total = labels_.of_class[place];
      for (unsigned left = same; left != 0; left &= left - 1) {
        const CornerParts<T> more = labels_.of_lane[__ffs(static_cast<int>(left)) - 1];
#pragma unroll
        for (int i = 0; i < 4; ++i) total.at[i] += more.at[i];
      }
      labels_.of_class[place] = total;
    }
    __syncwarp();
  }

  // Label smoothing takes the same off every class of a pixel.
  __device__ void spread_gradient(const Pixel& own) {
    const T share = own.target.share, right = share * own.right, left = share - right;
    const T total[2][2] = {{warp_sum((T(1) - own.down) * left), warp_sum(own.down * left)},
                           {warp_sum((T(1) - own.down) * right), warp_sum(own.down * right)}};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (class_of(k) >= a_.classes) continue;
#pragma unroll
      for (int side = 0; side < 2; ++side) {
#pragma unroll
        for (int d = 0; d < 2; ++d) slope_[side][d][k] -= total[side][d] * a_.spread(class_of(k));
      }
    }
  }

  __device__ void take_label_parts() {
    if (!gradient_) return;  // sums leave theirs until the end
#pragma unroll
    for (int k = 0; k < K; ++k) {
      CornerParts<T>& parts = labels_.of_class[lane_ + 32 * k];
#pragma unroll
      for (int i = 0; i < 4; ++i) slope_[i / 2][i % 2][k] += parts.at[i];
      parts = {};
    }
    __syncwarp();
  }

  __device__ void write_side(int side, T* to) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = class_of(k);
      if (c >= a_.classes) continue;
      to[c] = slope_[side][0][k];
      to[a_.classes + c] = slope_[side][1][k];
    }
  }

  __device__ void write_sums(T* to) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = class_of(k);
      if (c >= a_.classes) continue;
      const CornerParts<T>& parts = labels_.of_class[lane_ + 32 * k];
      to[c] = parts.at[0] + parts.at[1] + parts.at[2] + parts.at[3];
      to[a_.classes + c] = sums_[k];
    }
  }

  static constexpr T kTiny = static_cast<T>(1e-30);

  const SoftmaxArguments<T>& a_;
  const int lane_, first_class_;
  LabelParts<T, K>& labels_;
  int image_ = 0, top_ = 0;
  bool gradient_ = false;
  T logit_[2][2][K], slope_[2][2][K];  // of the corners
  T most_[2][2], spread_[2][2];
  T left_[K], step_[K], row_slope_[2][K], sums_[K];
  T down_ = 0;
  double value_ = 0;
};

// blockIdx.y: which 32 K of the classes, where there are more.
template <class T, int K, SoftmaxTask kTask, bool kKnown>
__global__ void __launch_bounds__(32 * kCellWarps, sizeof(T) == 4 && K <= 5 ? 3 : 1)
    cell_kernel(const SoftmaxArguments<T> a, CellWalks walks, CellOutput<T> to) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int64_t walk = static_cast<int64_t>(blockIdx.x) * kCellWarps + warp;
  if (walk >= walks.count) return;
  __shared__ LabelParts<T, K> labels[kCellWarps];
  CellWalk<T, K, kTask, kKnown>(a, static_cast<int>(blockIdx.y) * 32 * K, labels[warp]).run(walks, walk, to);
}

// Adds up the parts of each logit's gradient and multiplies them by `slope`, if there is one. One thread a value.
template <class T, class S>
__global__ void gather_parts_kernel(const T* parts, CellWalks walks, int classes, int height, int width, int64_t total,
                                    const double* slope, S* gradient, ImageStrides to) {
  const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= total) return;
  const int c = static_cast<int>(i % classes), x = static_cast<int>(i / classes % width);
  const int y = static_cast<int>(i / classes / width % height);
  const int64_t image = i / classes / width / height;
  T sum = 0;
  for (int d = 0; d < 2 && d <= y; ++d) {  // upper logits of the own row of cells, lower ones of the row above
    const int64_t row = (image * height + y - d) * walks.per_row;
    const int walk = x / walks.length;
    sum += parts[(((row + walk) * (walks.length + 1) + x % walks.length) * 2 + d) * classes + c];
    if (x % walks.length == 0 && walk > 0) {
      sum += parts[(((row + walk - 1) * (walks.length + 1) + walks.length) * 2 + d) * classes + c];
    }
  }
  if (slope != nullptr) sum *= static_cast<T>(*slope);
  gradient[image * to.image + y * to.y + x * to.x + c * to.channel] = static_cast<S>(sum);
}

}  // namespace tessera
