#pragma once
#include <cstdint>

#include "cuda/common/launch.h"

namespace tessera {

// kSize neighbours in memory, which one load or store moves: by default 16 bytes, the most there is.
template <class T, int kCount = 16 / static_cast<int>(sizeof(T))>
struct alignas(kCount * sizeof(T)) Pack {
  static constexpr int kSize = kCount;
  T value[kCount];
};

template <int kCount, class T>
__device__ __forceinline__ Pack<T, kCount> load_pack(const T* from) {
  return *reinterpret_cast<const Pack<T, kCount>*>(from);
}
template <class T, int kCount>
__device__ __forceinline__ void store_pack(T* to, const Pack<T, kCount>& pack) {
  *reinterpret_cast<Pack<T, kCount>*>(to) = pack;
}

// Whether packs of that many bytes may be moved there.
inline bool is_aligned(const void* pointer, size_t bytes = 16) {
  return reinterpret_cast<uintptr_t>(pointer) % bytes == 0;
}

}  // namespace tessera
