#pragma once
#include "cuda/common/pack.h"

namespace tessera {

// Classes that one thread works on together; what is left over comes in a smaller group. The same for every layout and type,
// so that results are too.
inline constexpr int kClassGroup = 16;

// kSize classes from `begin` on; not kWhole: some of them may be past the last.
template <int kSize, bool kWhole>
struct ClassGroup {
  static constexpr int kCount = kSize;
  int begin, classes;

  __device__ bool has(int j, int count = 1) const { return kWhole || begin + j + count <= classes; }
};

// work(group) for all classes. A smaller group at the end changes no sum: what is past the last class adds nothing.
template <class Work>
__device__ __forceinline__ void each_class_group(int classes, Work&& work) {
  int c = 0;
  for (; c + kClassGroup <= classes; c += kClassGroup) work(ClassGroup<kClassGroup, true>{c, classes});
  const int left = classes - c;
  if (left > 8) {
    work(ClassGroup<kClassGroup, false>{c, classes});
  } else if (left > 4) {
    work(ClassGroup<8, false>{c, classes});
  } else if (left > 2) {
    work(ClassGroup<4, false>{c, classes});
  } else if (left > 0) {
    work(ClassGroup<2, false>{c, classes});
  }
}

// One pixel's logits in shared memory, of type S there and T outside, moved kPack at a time.
template <class T, class S, int kPack>
struct SharedRow {
  S* at;

  __device__ T operator[](int c) const { return static_cast<T>(at[c]); }
  __device__ void set(int c, T value) const { at[c] = static_cast<S>(value); }

  // Numbers past the last class become `none`.
  template <int kCount, bool kWhole>
  __device__ __forceinline__ void load(ClassGroup<kCount, kWhole> group, T none, T (&z)[kCount]) const {
    constexpr int kEach = kPack < kCount ? kPack : kCount;
    const S* const from = at + group.begin;
#pragma unroll
    for (int i = 0; i < kCount; i += kEach) {
      if (group.has(i, kEach)) {
        const Pack<S, kEach> pack = load_pack<kEach>(from + i);
#pragma unroll
        for (int j = 0; j < kEach; ++j) z[i + j] = static_cast<T>(pack.value[j]);
      } else {
#pragma unroll
        for (int j = 0; j < kEach; ++j) z[i + j] = group.has(i + j) ? static_cast<T>(from[i + j]) : none;
      }
    }
  }
  template <int kCount, bool kWhole>
  __device__ __forceinline__ void store(ClassGroup<kCount, kWhole> group, const T (&z)[kCount]) const {
    constexpr int kEach = kPack < kCount ? kPack : kCount;
    S* const to = at + group.begin;
#pragma unroll
    for (int i = 0; i < kCount; i += kEach) {
      if (group.has(i, kEach)) {
        Pack<S, kEach> pack;
#pragma unroll
        for (int j = 0; j < kEach; ++j) pack.value[j] = static_cast<S>(z[i + j]);
        store_pack(to + i, pack);
      } else {
#pragma unroll
        for (int j = 0; j < kEach; ++j) {
          if (group.has(i + j)) to[i + j] = static_cast<S>(z[i + j]);
        }
      }
    }
  }
};

// The same in global memory, classes `step` apart: a warp's pixels lie side by side there.
template <class T, class S>
struct PlaneRow {
  S* at;
  int64_t step;

  __device__ T operator[](int c) const { return static_cast<T>(at[c * step]); }
  __device__ void set(int c, T value) const { at[c * step] = static_cast<S>(value); }

  template <int kCount, bool kWhole>
  __device__ __forceinline__ void load(ClassGroup<kCount, kWhole> group, T none, T (&z)[kCount]) const {
    const S* const from = at + group.begin * step;
#pragma unroll
    for (int j = 0; j < kCount; ++j) z[j] = group.has(j) ? static_cast<T>(from[j * step]) : none;
  }
  template <int kCount, bool kWhole>
  __device__ __forceinline__ void store(ClassGroup<kCount, kWhole> group, const T (&z)[kCount]) const {
    S* const to = at + group.begin * step;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      if (group.has(j)) to[j * step] = static_cast<S>(z[j]);
    }
  }
};

}  // namespace tessera
