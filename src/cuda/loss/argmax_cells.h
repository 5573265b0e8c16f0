#pragma once
#include <limits>

#include "cuda/loss/cell_walks.h"
#include "cuda/loss/warp_argmax.h"

namespace tessera {

inline constexpr int kArgmaxWarps = 4;  // in a block

// A warp walks along a row of cells (see upsample_axis.h), classes dealt out over its lanes, K a lane. The logits of a cell's
// corners sit in registers; the right ones go on as the left ones of the next cell, so each logit is read twice, once for the
// row of cells above it. Nothing of the output's size is stored but the classes.
template <class T, class S, int K>
class ArgmaxWalk {
 public:
  // classes: (N, H, W).
  __device__ ArgmaxWalk(const LogitArguments& a, int16_t* classes)
      : a_(a), classes_(classes), lane_(static_cast<int>(threadIdx.x % 32)) {}

  __device__ void run(const CellWalks& walks, int64_t walk) {
    const int64_t row = walk / walks.per_row;
    image_ = static_cast<int>(row / a_.rows.in);
    top_ = static_cast<int>(row % a_.rows.in);
    y_begin_ = a_.rows.begin(top_);
    y_end_ = a_.rows.begin(top_ + 1);
    const int begin = static_cast<int>(walk % walks.per_row) * walks.length;
    const int end = begin + walks.length < a_.columns.in ? begin + walks.length : a_.columns.in;
    load_right(begin);
    int x_begin = a_.columns.begin(begin);
    for (int column = begin; column < end; ++column) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        logit_[0][0][k] = logit_[1][0][k];
        logit_[0][1][k] = logit_[1][1][k];
      }
      load_right(a_.columns.second(column));
      const int x_end = a_.columns.begin(column + 1);
      for (int x = x_begin; x < x_end; x += 32) visit(column, x, x_end - x < 32 ? x_end - x : 32);
      x_begin = x_end;
    }
  }

 private:
  __device__ void load_right(int column) {
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      const S* const at = static_cast<const S*>(a_.logits) + a_.offset(image_, d == 0 ? top_ : a_.rows.second(top_), column);
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int c = lane_ + 32 * k;
        // Lanes past the last class hold NaN, which is larger than no number.
        logit_[1][d][k] = c < a_.classes ? static_cast<T>(at[c * a_.strides.channel]) : std::numeric_limits<T>::quiet_NaN();
      }
    }
  }

  // The cell's pixels of columns [x, x + width): at most a warp's lanes.
  __device__ void visit(int column, int x, int width) {
    const T own_right = static_cast<T>(a_.columns.weight(x + (lane_ < width ? lane_ : 0), column));
    for (int y = y_begin_; y < y_end_; ++y) {
      const T down = static_cast<T>(a_.rows.weight(y, top_));
      T left[K], step[K];
#pragma unroll
      for (int k = 0; k < K; ++k) {
        left[k] = logit_[0][0][k] + down * (logit_[0][1][k] - logit_[0][0][k]);
        step[k] = logit_[1][0][k] + down * (logit_[1][1][k] - logit_[1][0][k]) - left[k];
      }
      int own = 0;
#pragma unroll 4
      for (int q = 0; q < width; ++q) {
        const int found = best_class(left, step, __shfl_sync(kAllLanes, own_right, q));
        own = lane_ == q ? found : own;
      }
      if (lane_ < width)
        classes_[(static_cast<int64_t>(image_) * a_.rows.out + y) * a_.columns.out + x + lane_] = static_cast<int16_t>(own);
    }
  }

  __device__ int best_class(const T (&left)[K], const T (&step)[K], T right) const {
    T best = -std::numeric_limits<T>::infinity();
    int found = INT32_MAX;
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const T z = left[k] + right * step[k];
      if (z > best) {
        best = z;
        found = lane_ + 32 * k;
      }
    }
    const int of_all = warp_argmax(best, found);
    return of_all == INT32_MAX ? 0 : of_all;  // nothing but NaN
  }

  const LogitArguments& a_;
  int16_t* const classes_;
  const int lane_;
  int image_ = 0, top_ = 0, y_begin_ = 0, y_end_ = 0;
  T logit_[2][2][K];  // of the corners: left or right, upper or lower
};

template <class T, class S, int K>
__global__ void __launch_bounds__(32 * kArgmaxWarps)
    cell_argmax_kernel(const LogitArguments a, const CellWalks walks, int16_t* classes) {
  const int64_t walk = static_cast<int64_t>(blockIdx.x) * kArgmaxWarps + threadIdx.x / 32;
  if (walk < walks.count) ArgmaxWalk<T, S, K>(a, classes).run(walks, walk);
}

}  // namespace tessera
