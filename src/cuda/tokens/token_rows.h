#pragma once
#include <cstdint>

#include "cuda/common/launch.h"

namespace tessera {

// Where rows of tokens lie, (N * tokens, width): the first `head` tokens of each sample are rows of one tensor, (N, head,
// width), the others of a second. One tensor alone: tokens = head = all rows.
template <class T>
struct TokenRows {
  T *first, *rest;  // null: there is no such row
  unsigned tokens, head;
  int width;

  __device__ __forceinline__ T* row(int64_t index) const {
    const unsigned sample = static_cast<unsigned>(index) / tokens, token = static_cast<unsigned>(index) % tokens;
    T* const from = token < head ? first : rest;
    const int64_t at = token < head ? int64_t{sample} * head + token : int64_t{sample} * (tokens - head) + token - head;
    return from == nullptr ? nullptr : from + at * width;
  }
};

}  // namespace tessera
