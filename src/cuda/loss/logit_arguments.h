#pragma once
#include <ATen/core/Tensor.h>
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <type_traits>

#include "cuda/common/strides.h"
#include "cuda/loss/upsample_axis.h"

namespace tessera {

enum class NumberType { kFloat, kDouble, kBFloat16, kHalf };

// Logits (N, C, h, w) that are to be upsampled, as kernels read them.
struct LogitArguments {
  const void* logits;
  NumberType type;
  Strides strides;
  UpsampleAxis rows, columns;
  int images, classes;

  template <class T>
  __device__ T logit(int64_t offset) const {
    switch (type) {
      case NumberType::kFloat: return static_cast<T>(static_cast<const float*>(logits)[offset]);
      case NumberType::kDouble: return static_cast<T>(static_cast<const double*>(logits)[offset]);
      case NumberType::kBFloat16: return static_cast<T>(static_cast<float>(static_cast<const c10::BFloat16*>(logits)[offset]));
      default: return static_cast<T>(static_cast<float>(static_cast<const c10::Half*>(logits)[offset]));
    }
  }
  // work(the logits as their own type), where many are read: one decision for all, so that no load waits for another. T: what
  // they are computed in.
  template <class T, class Work>
  __device__ __forceinline__ void with_type(Work&& work) const {
    if constexpr (std::is_same_v<T, double>) {
      work(static_cast<const double*>(logits));
    } else {
      switch (type) {
        case NumberType::kBFloat16: return work(static_cast<const c10::BFloat16*>(logits));
        case NumberType::kHalf: return work(static_cast<const c10::Half*>(logits));
        default: return work(static_cast<const float*>(logits));
      }
    }
  }
  __device__ int64_t offset(int image, int y, int x) const {
    return image * strides.image + y * strides.row + x * strides.column;
  }
};

inline NumberType number_type(at::ScalarType type) {
  switch (type) {
    case at::kFloat: return NumberType::kFloat;
    case at::kDouble: return NumberType::kDouble;
    case at::kBFloat16: return NumberType::kBFloat16;
    case at::kHalf: return NumberType::kHalf;
    default: TORCH_CHECK(false, "expected logits of a float type, got ", toString(type));
  }
}

// `size`: height and width of the output.
inline LogitArguments logit_arguments(const at::Tensor& logits, at::IntArrayRef size, bool align_corners) {
  return {logits.const_data_ptr(),
          number_type(logits.scalar_type()),
          strides_of(logits),
          {logits.size(2), size[0], align_corners},
          {logits.size(3), size[1], align_corners},
          static_cast<int>(logits.size(0)),
          static_cast<int>(logits.size(1))};
}

// work(a number of the logits' type); T: what is computed in.
template <class T, class Work>
void with_stored_type(NumberType type, Work&& work) {
  if constexpr (std::is_same_v<T, double>) {
    work(double{});
  } else {
    switch (type) {
      case NumberType::kBFloat16: return work(c10::BFloat16{});
      case NumberType::kHalf: return work(c10::Half{});
      default: return work(float{});
    }
  }
}

}  // namespace tessera
