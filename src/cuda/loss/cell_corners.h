#pragma once
#include "cuda/common/async_copy.h"
#include "cuda/common/pack.h"
#include "cuda/loss/softmax_arguments.h"

namespace tessera {

// The logits of one class, less its corner's largest and times log2(e): upper left, lower less upper left, the same on the
// right.
template <class T>
using CellLogits = Pack<T, 4>;

// Where a pixel lies between its corners.
template <class T>
struct CellPlace {
  T right = 0, down = 0;

  __device__ T mix(T top_left, T top_right, T bottom_left, T bottom_right) const {
    const T top = top_left + right * (top_right - top_left), bottom = bottom_left + right * (bottom_right - bottom_left);
    return top + down * (bottom - top);
  }
};

// The logits of a cell's corners, classes dealt out over a warp's lanes, K a lane. They stay in shared memory, where every
// lane reads its own: in registers they would take the place of another warp.
template <class T, int K>
class CellCorners {
 public:
  __device__ CellCorners(const SoftmaxArguments<T>& a, int first_class, CellLogits<T>* memory)
      : a_(a), lane_(static_cast<int>(threadIdx.x % 32)), first_class_(first_class), memory_(memory) {}

  __device__ void begin_row(int image, int top) {
    image_ = image;
    top_ = top;
  }

  // The right corners become the left ones, `column` the right one. spread: the sums that label smoothing needs are wanted.
  __device__ void advance(int column, bool spread) {
    const int64_t upper = a_.offset(image_, top_, column), lower = a_.offset(image_, a_.rows.second(top_), column);
    T logit[2][K];
    a_.template with_type<T>([&](const auto* logits) {
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const int c = class_of(k);
        const int64_t along = c * a_.strides.channel;
        logit[0][k] = c < a_.classes ? static_cast<T>(logits[upper + along]) : kNoLogit<T>;
        logit[1][k] = c < a_.classes ? static_cast<T>(logits[lower + along]) : kNoLogit<T>;
      }
    });
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      T most = logit[d][0];
#pragma unroll
      for (int k = 1; k < K; ++k) most = fmax(most, logit[d][k]);
      most_[0][d] = most_[1][d];
      spread_[0][d] = spread_[1][d];
      most_[1][d] = most = warp_max(most);
      T total = 0;
#pragma unroll
      for (int k = 0; k < K; ++k) {
        const T below = logit[d][k] - most;
        if (spread && has(k)) total += a_.spread(class_of(k)) * below;
        logit[d][k] = has(k) ? below * kLog2E<T> : kNoLogit<T>;
      }
      if (spread) spread_[1][d] = warp_sum(total);
    }
#pragma unroll
    for (int k = 0; k < K; ++k) {
      CellLogits<T>& own = memory_[lane_ + 32 * k];
      own = {{own.value[2], own.value[3], logit[0][k], logit[1][k] - logit[0][k]}};
    }
  }

  // Lanes ask for the lines of both rows.
  __device__ void prefetch_column(int column) const {
    constexpr int kLine = 128;
    const int bytes = a_.type == NumberType::kDouble ? 8 : a_.type == NumberType::kFloat ? 4 : 2;
    const int along = lane_ % 16 * kLine;
    if (column >= a_.columns.in || a_.strides.channel != 1 || along >= a_.classes * bytes) return;
    const int64_t place = a_.offset(image_, lane_ < 16 ? top_ : a_.rows.second(top_), column);
    prefetch(static_cast<const char*>(a_.logits) + place * bytes + along);
  }

  // A row of the cell's pixels: at its left corners, and from there to the right ones.
  __device__ __forceinline__ void interpolate(T down, T (&left)[K], T (&step)[K]) const {
#pragma unroll
    for (int k = 0; k < K; ++k) {
      const CellLogits<T> own = memory_[lane_ + 32 * k];
      left[k] = own.value[0] + down * own.value[1];
      step[k] = own.value[2] + down * own.value[3] - left[k];
    }
  }

  // Three numbers of one pixel: the bound of its logits, one logit less that bound and times log2(e), the sum for label
  // smoothing.
  __device__ T bound(const CellPlace<T>& p) const {
    return p.mix(most_[0][0], most_[1][0], most_[0][1], most_[1][1]);
  }
  __device__ T logit(const CellPlace<T>& p, int column, int c) const {
    const int bottom = a_.rows.second(top_), next = a_.columns.second(column);
    const int64_t along = c * a_.strides.channel;
    const int64_t corner[4] = {a_.offset(image_, top_, column) + along, a_.offset(image_, top_, next) + along,
                               a_.offset(image_, bottom, column) + along, a_.offset(image_, bottom, next) + along};
    T at[4];
    a_.template with_type<T>([&](const auto* logits) {
#pragma unroll
      for (int i = 0; i < 4; ++i) at[i] = static_cast<T>(logits[corner[i]]);
    });
    return kLog2E<T> * p.mix(at[0] - most_[0][0], at[1] - most_[1][0], at[2] - most_[0][1], at[3] - most_[1][1]);
  }
  __device__ T spread(const CellPlace<T>& p) const {
    return p.mix(spread_[0][0], spread_[1][0], spread_[0][1], spread_[1][1]);
  }

  __device__ int class_of(int k) const {
    return first_class_ + lane_ + 32 * k;
  }
  __device__ bool has(int k) const {
    return class_of(k) < a_.classes;
  }

 private:
  const SoftmaxArguments<T>& a_;
  const int lane_, first_class_;
  CellLogits<T>* const memory_;
  int image_ = 0, top_ = 0;
  T most_[2][2] = {}, spread_[2][2] = {};  // [left, right][upper, lower]
};

}  // namespace tessera
