#pragma once
#include "cuda/common/pack.h"

namespace tessera {

inline constexpr int kPixelGroup = 4;  // pixels of a row that are worked on together

// Sums four numbers over the warp: lanes [8 i, 8 i + 8) get that of s[i].
template <class T>
__device__ __forceinline__ T warp_sum_group(const T (&s)[kPixelGroup], int lane) {
  const bool upper = (lane & 16) != 0, odd = (lane & 8) != 0;
  const T given0 = __shfl_xor_sync(kAllLanes, upper ? s[0] : s[2], 16);
  const T given1 = __shfl_xor_sync(kAllLanes, upper ? s[1] : s[3], 16);
  const T even_sum = (upper ? s[2] : s[0]) + given0, odd_sum = (upper ? s[3] : s[1]) + given1;
  T sum = (odd ? odd_sum : even_sum) + __shfl_xor_sync(kAllLanes, odd ? even_sum : odd_sum, 8);
  for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(kAllLanes, sum, distance);
  return sum;
}

// The numbers that a pixel's label adds at the four corners: upper left, lower left, upper right, lower right.
template <class T>
using CornerParts = Pack<T, 4>;

// Shared memory of a warp with the numbers that labels add at the corners (or to the sums), by class.
template <class T, int K>
class LabelParts {
 public:
  __device__ void clear(int lane) {
#pragma unroll
    for (int k = 0; k < K; ++k) of_class_[lane + 32 * k] = {};
    __syncwarp();
  }

  // Adds the parts of the pixels of all lanes. label: -1 is none. `first_class`: the first of those that are here.
  __device__ void add(int label, int first_class, const CornerParts<T>& parts, int lane) {
    const unsigned labelled = __ballot_sync(kAllLanes, label >= 0);
    if (labelled == 0) return;
    const int some = __shfl_sync(kAllLanes, label, __ffs(static_cast<int>(labelled)) - 1);
    if (!__any_sync(kAllLanes, label >= 0 && label != some)) return add_all(some - first_class, label >= 0, parts, lane);
    // Pixels with the same label are added one after another, in the order of lanes.
    of_lane_[lane] = parts;
    const unsigned same = __match_any_sync(kAllLanes, label);
    __syncwarp();
    const int place = label - first_class;
    if (place >= 0 && place < 32 * K && (same & ((1u << lane) - 1)) == 0) {
      CornerParts<T> total = of_class_[place];
      for (unsigned left = same; left != 0; left &= left - 1) {
        const CornerParts<T> more = of_lane_[__ffs(static_cast<int>(left)) - 1];
#pragma unroll
        for (int i = 0; i < 4; ++i) total.value[i] += more.value[i];
      }
      of_class_[place] = total;
    }
    __syncwarp();
  }

  __device__ const CornerParts<T>& operator[](int place) const {
    return of_class_[place];
  }

  __device__ CornerParts<T> take(int place) {
    const CornerParts<T> parts = of_class_[place];
    of_class_[place] = {};
    return parts;
  }

 private:
  // Most cells have one label.
  __device__ void add_all(int place, bool labelled, const CornerParts<T>& parts, int lane) {
    if (place < 0 || place >= 32 * K) return;
    T part[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) part[i] = labelled ? parts.value[i] : T(0);
    const T sum = warp_sum_group(part, lane);
    if (lane % 8 == 0) of_class_[place].value[lane / 8] += sum;
    __syncwarp();
  }

  CornerParts<T> of_class_[32 * K];
  CornerParts<T> of_lane_[32];
};

}  // namespace tessera
