#pragma once
#include <ATen/core/Tensor.h>

#include "core/host_device.h"
#include "cuda/common/launch.h"
#include "cuda/common/strides.h"

namespace tessera {

inline constexpr int kVector = 8;  // channels that a thread works on together: 16 bytes of bfloat16
inline constexpr int kBlockThreads = 256, kBlockVectors = 1024;  // four vectors a thread hide how long one takes

// V channels side by side, moved in pieces of up to 16 bytes.
template <class S, int V>
struct alignas(sizeof(S) * V < 16 ? sizeof(S) * V : 16) Channels {
  S value[V];
};

template <class S, int V>
__device__ __forceinline__ Channels<S, V> load_channels(const S* from) {
  return *reinterpret_cast<const Channels<S, V>*>(from);
}

template <class S, int V>
__device__ __forceinline__ void store_channels(S* to, const Compute<S> (&value)[V]) {
  Channels<S, V> stored;
#pragma unroll
  for (int k = 0; k < V; ++k) stored.value[k] = static_cast<S>(value[k]);
  *reinterpret_cast<Channels<S, V>*>(to) = stored;
}

// Whether channels can be moved kVector at a time.
inline bool fits_vectors(const at::Tensor& x) {
  const auto whole = [](int64_t count) { return count % kVector == 0; };
  return x.stride(1) == 1 && whole(x.size(1)) && whole(x.stride(0)) && whole(x.stride(2)) && whole(x.stride(3)) &&
         reinterpret_cast<uintptr_t>(x.const_data_ptr()) % 16 == 0;
}

// Where the channels lie side by side, threads that follow one another take channels; else columns.
inline bool goes_by_channels(const at::Tensor& x) {
  return x.stride(1) == 1 && x.size(1) > 1;
}

inline int64_t divide_up(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}

}  // namespace tessera
