#pragma once
#include <ATen/core/Tensor.h>

#include <algorithm>
#include <array>

#include "cuda/pack.h"

namespace tessera {

// (N, heads, T, d), neighbours in d.
template <class T>
struct HeadsPart {
  const T* data;
  int64_t sample_stride, head_stride, token_stride;

  __device__ const T* at(int64_t sample, int64_t head, int64_t token) const {
    return data + sample * sample_stride + head * head_stride + token * token_stride;
  }
};

inline at::Tensor with_neighbours(const at::Tensor& x) {
  return x.stride(3) == 1 ? x : x.contiguous();
}

template <class T>
HeadsPart<T> heads_part(const at::Tensor& x) {
  return {x.const_data_ptr<T>(), x.stride(0), x.stride(1), x.stride(2)};
}

// Whether every head of every token begins on a boundary of `size` numbers, 16 bytes.
template <class T>
bool packs_fit(const HeadsPart<T>& part, int size) {
  const std::array<int64_t, 3> strides{part.sample_stride, part.head_stride, part.token_stride};
  return is_aligned(part.data) && std::all_of(strides.begin(), strides.end(), [&](int64_t s) { return s % size == 0; });
}

}  // namespace tessera
