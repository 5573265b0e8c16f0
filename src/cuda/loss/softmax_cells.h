#pragma once
#include "cuda/loss/cell_chunk.h"
#include "cuda/loss/cell_gradients.h"
#include "cuda/loss/cell_memory.h"
#include "cuda/loss/cell_row.h"
#include "cuda/loss/cell_walks.h"

// Note [Cells on a GPU]
// A warp walks along a row of cells (see upsample_axis.h), classes dealt out over its lanes, K a lane. The logits of a cell's
// corners are at hand (cell_corners.h), less their corner's largest: the bilinear mix of those four is an upper bound of a
// pixel's largest logit, so most pixels need no maximum of their own. Rows of a cell are interpolated first, then its pixels,
// four at a time. Exponentials are summed over the warp and at once become the gradients of the corners, also in registers. The
// right corners' gradients go on as the left ones of the next cell; finished columns are written as two parts, of the upper and
// the lower logits, which gather_parts_kernel adds up in a fixed order. So each pixel is computed once and nothing is added
// in an order that could change.
// Of more classes than a warp's lanes hold, every warp has a stretch. Sums over all of them are then found by a walk of their
// own (kLogSums) and known (kKnown) in the one that makes gradients.

namespace tessera {

template <class T, int K, LossTask kTask, bool kKnown>
class CellWalk {
 public:
  __device__ CellWalk(const SoftmaxArguments<T>& a, int first_class, CellMemory<T, K>& memory)
      : a_(a),
        lane_(static_cast<int>(threadIdx.x % 32)),
        first_class_(first_class),
        memory_(memory),
        corners_(a, first_class, memory.corners) {
    if constexpr (kKnown && kTask == LossTask::kCrossEntropy) {
      if (a.smoothing <= 0) return;
#pragma unroll
      for (int k = 0; k < K; ++k) own_spread_ += corners_.has(k) ? a.spread(corners_.class_of(k)) : T(0);
      own_spread_ = warp_sum(own_spread_);
    }
  }

  __device__ void run(const CellWalks& walks, int64_t walk, const CellOutput<T>& to) {
    const int64_t row = walk / walks.per_row;
    image_ = static_cast<int>(row / a_.rows.in);
    top_ = static_cast<int>(row % a_.rows.in);
    gradient_ = kTask != LossTask::kSums && kTask != LossTask::kLogSums && to.parts != nullptr;
    if (kTask == LossTask::kLogSums) {
      const int64_t before = static_cast<int64_t>(blockIdx.y) * a_.images * a_.rows.out * a_.columns.out;
      log_sums_ = to.log_sums + before;
      grad_dots_ = to.grad_dots == nullptr ? nullptr : to.grad_dots + before;
    }
    const bool spread = kTask == LossTask::kCrossEntropy && a_.smoothing > 0;
    const int begin = static_cast<int>(walk % walks.per_row) * walks.length;
    const int end = begin + walks.length < a_.columns.in ? begin + walks.length : a_.columns.in;
    const int y_begin = a_.rows.begin(top_), y_end = a_.rows.begin(top_ + 1);
    T* part = gradient_ ? to.parts + walk * (walks.length + 1) * 2 * a_.classes : nullptr;
    memory_.labels.clear(lane_);
    corners_.begin_row(image_, top_);
    corners_.advance(begin, spread);
    corner_grads_.clear_right();
#pragma unroll
    for (int k = 0; k < K; ++k) sums_[k] = 0;
    int x = a_.columns.begin(begin);
    for (int column = begin; column < end; ++column) {
      const CellChunk first = {column, x, a_.columns.begin(column + 1), y_end, x, y_begin};
      x = first.x_end;
      const GivenLabels given = read_labels(first);  // these and the logits are on their way together
      corners_.advance(a_.columns.second(column), spread);
      corners_.prefetch_column(column + 2);
      corner_grads_.move_right();
      visit_cell(first, given);
      if (!gradient_) continue;
      corner_grads_.write(0, part, corners_.class_of(0), a_.classes);
      part += 2 * a_.classes;
    }
    if (gradient_) corner_grads_.write(1, part, corners_.class_of(0), a_.classes);
    if (kTask == LossTask::kCrossEntropy) {
      value_ = warp_sum(value_);
      if (lane_ == 0) to.values[kKnown ? walk_of_stretch(walks, walk) : walk] = value_;
    }
    if (kTask == LossTask::kSums) write_sums(to.sums + walk * 2 * a_.classes);
  }

 private:
  __device__ int64_t walk_of_stretch(const CellWalks& walks, int64_t walk) const {
    const int64_t of_image = walks.count / a_.images;
    return (static_cast<int64_t>(image_) * gridDim.y + blockIdx.y) * of_image + walk % of_image;
  }

  struct GivenLabels {
    int first, other;
  };
  __device__ int64_t pixel_index(const CellChunk& chunk) const {
    return (static_cast<int64_t>(image_) * a_.rows.out + chunk.own_y(lane_)) * a_.columns.out + chunk.own_x(lane_);
  }
  __device__ GivenLabels read_labels(const CellChunk& chunk) const {
    if (!chunk.has(lane_)) return {a_.ignore, a_.ignore};
    const int64_t index = pixel_index(chunk);
    return {a_.labels[index], a_.other_labels == nullptr ? a_.ignore : a_.other_labels[index]};
  }

  __device__ void visit_cell(CellChunk chunk, GivenLabels given) {
    if (chunk.empty()) return;
    for (;;) {
      const CellChunk current = chunk;
      const GivenLabels labels = given;
      chunk.advance();
      if (!chunk.empty()) given = read_labels(chunk);
      visit_chunk(current, labels);
      if (chunk.empty()) break;
    }
    if (gradient_) corner_grads_.add_labels(memory_.labels, lane_);  // sums leave theirs until the end
  }

  // A lane's own pixel of a chunk.
  struct Pixel {
    PixelTargets<T> target;
    CellPlace<T> place;
  };

  __device__ void visit_chunk(const CellChunk& chunk, GivenLabels given) {
    Pixel own;
    if (chunk.has(lane_)) set_pixel(own, chunk, given);
    const unsigned counted = __ballot_sync(kAllLanes, own.target.counts());
    if (counted == 0) return;
    memory_.right[lane_] = own.place.right;
    memory_.mass[lane_] = kTask == LossTask::kCrossEntropy ? own.target.mass : own.target.labelled;
    __syncwarp();
    const int bits = chunk.row_bits(), width = chunk.width(), rows = chunk.rows(), below = chunk.y_end - chunk.y;
    for (int row = 0; row < rows && row < below; ++row) {
      const int first = row << bits;
      const T down = __shfl_sync(kAllLanes, own.place.down, first);
      row_.begin(corners_, down);
      for (int i = 0; i < width; i += kPixelGroup) {
        if ((counted >> (first + i) & ((1u << kPixelGroup) - 1)) != 0) visit_group(first + i);
      }
      if (gradient_) corner_grads_.add_row(down, row_.grad);
    }
    __syncwarp();
    if constexpr (kTask == LossTask::kLogSums) {
      if (own.target.counts()) write_log_sums(own, pixel_index(chunk));
    } else {
      finish_pixels(own);
    }
  }

  __device__ void set_pixel(Pixel& own, const CellChunk& chunk, GivenLabels given) {
    own.target.set(a_, image_, given.first, given.other);
    own.place.down = static_cast<T>(a_.rows.weight(chunk.own_y(lane_), top_));
    own.place.right = static_cast<T>(a_.columns.weight(chunk.own_x(lane_), chunk.column));
    memory_.label[lane_] = own.target.label[0];
    memory_.extra[lane_] = 0;
    if (!own.target.counts()) return;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (own.target.label[i] < 0) continue;
      memory_.label_logit[i][lane_] = corners_.logit(own.place, chunk.column, own.target.label[i]);
    }
    if (kKnown) memory_.extra[lane_] = (a_.log_sum[pixel_index(chunk)] - corners_.bound(own.place)) * kLog2E<T>;
    if (kKnown && kTask == LossTask::kSumsGradient) memory_.shift[lane_] = a_.grad_dot[pixel_index(chunk)];
  }

  // Pixels of slots [begin, begin + kPixelGroup), all in one row.
  __device__ void visit_group(int begin) {
    const Pack<T, kPixelGroup> right = load_pack<kPixelGroup>(memory_.right + begin);
    T e[kPixelGroup][K], scale[kPixelGroup], mean[kPixelGroup];
    if (kKnown) {
      const auto extra = load_pack<kPixelGroup>(memory_.extra + begin), mass = load_pack<kPixelGroup>(memory_.mass + begin);
#pragma unroll
      for (int q = 0; q < kPixelGroup; ++q) {
        scale[q] = mass.value[q];
        row_.exponentials(right.value[q], scale[q] != 0 ? extra.value[q] : T(0), e[q]);
        mean[q] = kTask == LossTask::kSumsGradient && scale[q] != 0 ? memory_.shift[begin + q] : T(0);
      }
    } else {
      normalise(begin, right, e, scale, mean);
      if (kTask == LossTask::kLogSums) return;
    }
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) {
      const T to_right = scale[q] * right.value[q], to_left = scale[q] - to_right;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        if constexpr (kTask == LossTask::kSums) {
          sums_[k] += scale[q] * e[q][k];
        } else {
          const T g = kTask == LossTask::kSumsGradient ? e[q][k] * (class_grad(k) - mean[q]) : e[q][k];
          row_.grad[0][k] += to_left * g;
          row_.grad[1][k] += to_right * g;
        }
      }
    }
  }

  // Finds the sums of a group's exponentials and what they are to be multiplied by. An eighth of the warp has a pixel's sum;
  // what follows from it is found there and then told to all.
  __device__ void normalise(int begin, const Pack<T, kPixelGroup>& right, T (&e)[kPixelGroup][K], T (&scale)[kPixelGroup],
                            T (&mean)[kPixelGroup]) {
    T sums[kPixelGroup];
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) sums[q] = row_.exponentials(right.value[q], T(0), e[q]);
    T sum = warp_sum_group(sums, lane_);
    if (__any_sync(kAllLanes, sum < kTiny)) {  // the bound was far above the largest logit, and precision is gone
#pragma unroll
      for (int q = 0; q < kPixelGroup; ++q) {
        const T most = row_.largest(right.value[q]);
        if (lane_ == 0) memory_.extra[begin + q] = most;
        sums[q] = row_.exponentials(right.value[q], most, e[q]);
      }
      __syncwarp();
      sum = warp_sum_group(sums, lane_);
    }
    const int slot = begin + lane_ / 8;
    if (lane_ % 8 == 0) memory_.sum[slot] = sum;
    const T mass = memory_.mass[slot], own_scale = divide_fast(mass, sum);
#pragma unroll
    for (int q = 0; q < kPixelGroup; ++q) scale[q] = __shfl_sync(kAllLanes, own_scale, 8 * q);
    if (kTask == LossTask::kSumsGradient || (kTask == LossTask::kLogSums && grad_dots_ != nullptr)) {
      // The sum of gradient * exponential over all classes, with the label's own gradient.
#pragma unroll
      for (int q = 0; q < kPixelGroup; ++q) {
        sums[q] = 0;
#pragma unroll
        for (int k = 0; k < K; ++k) sums[q] += class_grad(k) * e[q][k];
      }
      T dot = warp_sum_group(sums, lane_);
      if (mass != 0 && holds(memory_.label[slot])) {
        dot += a_.grad_sums[memory_.label[slot]] * exp2_fast(memory_.label_logit[0][slot] - memory_.extra[slot]);
      }
      const T own_mean = divide_fast(dot, sum);
      if (kTask == LossTask::kLogSums && lane_ % 8 == 0) memory_.shift[slot] = own_mean;
#pragma unroll
      for (int q = 0; q < kPixelGroup; ++q) mean[q] = __shfl_sync(kAllLanes, own_mean, 8 * q);
    }
  }

  // Whether a class is in the own stretch.
  __device__ bool holds(int label) const {
    return label >= first_class_ && label < first_class_ + 32 * K;
  }

  __device__ T class_grad(int k) const {
    return corners_.has(k) ? a_.grad_sums[a_.classes + corners_.class_of(k)] : T(0);
  }

  __device__ void write_log_sums(const Pixel& own, int64_t index) {
    log_sums_[index] = corners_.bound(own.place) + kLn2<T> * (log2(memory_.sum[lane_]) + memory_.extra[lane_]);
    if (grad_dots_ != nullptr) grad_dots_[index] = memory_.shift[lane_];
  }

  // The labels' own part, for all pixels of the chunk at once.
  __device__ void finish_pixels(const Pixel& own) {
    const bool counts = own.target.counts();
    const T extra = counts ? memory_.extra[lane_] : T(0), sum = counts && !kKnown ? memory_.sum[lane_] : T(1);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (i == 1 && a_.other_labels == nullptr) continue;
      const int label = own.target.label[i];
      T amount = 0;
      if (label >= 0) {
        const T logit = memory_.label_logit[i][lane_];
        if (kTask == LossTask::kCrossEntropy) {
          amount = -own.target.weight[i];
          if (first_class_ == 0) value_ -= own.target.weight[i] * logit * kLn2<T>;
        } else {
          const T probability = exp2_fast(logit - extra) / sum;
          amount = kTask == LossTask::kSums ? probability : a_.grad_sums[label] * probability;
        }
      }
      const T right = amount * own.place.right, left = amount - right, down = own.place.down, up = T(1) - down;
      if (gradient_ || kTask == LossTask::kSums) {
        memory_.labels.add(label, first_class_, {{up * left, down * left, up * right, down * right}}, lane_);
      }
    }
    if (kTask == LossTask::kCrossEntropy && counts) {
      value_ += own_mass(own.target) * kLn2<T> * (log2(sum) + extra);
      if (a_.smoothing > 0) value_ -= own.target.labelled * corners_.spread(own.place);
    }
    if (kTask == LossTask::kCrossEntropy && a_.smoothing > 0 && gradient_) spread_gradient(own);
  }

  // The part of a pixel's -log p that this warp has to add: its stretch's, and once the labels'.
  __device__ T own_mass(const PixelTargets<T>& target) const {
    if (!kKnown) return target.mass;
    const T of_labels = first_class_ == 0 ? target.weight[0] + target.weight[1] : T(0);
    return a_.smoothing > 0 ? of_labels + target.labelled * own_spread_ : of_labels;
  }

  // Label smoothing takes the same off every class of a pixel.
  __device__ void spread_gradient(const Pixel& own) {
    const T labelled = own.target.labelled, right = labelled * own.place.right, left = labelled - right;
    const T down = own.place.down, up = T(1) - down;
    const CornerParts<T> total = {{warp_sum(up * left), warp_sum(down * left), warp_sum(up * right), warp_sum(down * right)}};
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (corners_.has(k)) corner_grads_.add(k, -a_.spread(corners_.class_of(k)), total);
    }
  }

  __device__ void write_sums(T* to) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const int c = corners_.class_of(k);
      if (c >= a_.classes) continue;
      const CornerParts<T>& parts = memory_.labels[lane_ + 32 * k];
      to[c] = parts.value[0] + parts.value[1] + parts.value[2] + parts.value[3];
      to[a_.classes + c] = sums_[k];
    }
  }

  static constexpr T kTiny = static_cast<T>(1e-30);

  const SoftmaxArguments<T>& a_;
  const int lane_, first_class_;
  CellMemory<T, K>& memory_;
  CellCorners<T, K> corners_;
  CellGradients<T, K> corner_grads_;
  int image_ = 0, top_ = 0;
  bool gradient_ = false;
  CellRow<T, K> row_;
  T sums_[K];
  T own_spread_ = 0;  // of label smoothing, over the own stretch of classes
  T *log_sums_ = nullptr, *grad_dots_ = nullptr;
  double value_ = 0;
};

// Blocks that a multiprocessor should hold. Four of cross entropy over 150 classes were faster on an H200 than three, although
// some registers then go to memory.
template <class T, int K, LossTask kTask>
inline constexpr int kCellBlocks = sizeof(T) != 4 || K > 5                      ? 1
                                   : K == 5 && kTask == LossTask::kCrossEntropy ? 4
                                                                                : 3;

// blockIdx.y: which 32 K of the classes, where there are more.
template <class T, int K, LossTask kTask, bool kKnown>
__global__ void __launch_bounds__(32 * kCellWarps<T>, kCellBlocks<T, K, kTask>)
    cell_kernel(const SoftmaxArguments<T> a, CellWalks walks, CellOutput<T> to) {
  const int warp = static_cast<int>(threadIdx.x / 32);
  const int64_t walk = static_cast<int64_t>(blockIdx.x) * kCellWarps<T> + warp;
  if (walk >= walks.count) return;
  __shared__ CellMemory<T, K> memory[kCellWarps<T>];
  CellWalk<T, K, kTask, kKnown>(a, static_cast<int>(blockIdx.y) * 32 * K, memory[warp]).run(walks, walk, to);
}

}  // namespace tessera
