#pragma once
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>

#include <cstdint>
#include <cstring>
#include <type_traits>

#include "cuda/common/launch.h"

// Note [Matrix tiles of a warp]
// A warp's lanes hold small matrices together, as the tensor cores of sm_80 and later take them. Lane 4 r + q has, two
// half-precision numbers in a word:
//   A (16 x 16): words 0, 1: columns 2q and 2q + 1 of rows r and r + 8; words 2, 3: the same, 8 columns on
//   B (16 x 8):  word 0: rows 2q and 2q + 1 of column r; word 1: the same, 8 rows down
//   C (16 x 8), float32: columns 2q and 2q + 1 of row r, then of row r + 8
// So two neighbouring C, rounded, are the A of a next product without leaving the lane. And since a sum's terms may come in any
// order, the columns of A (with the rows of B) and the columns of B may be any of the matrices at hand: choosing those that lie
// side by side in memory makes all accesses 16 bytes.

namespace tessera {

// Two neighbours as the type S that matrices are stored in.
template <class S>
__device__ __forceinline__ unsigned pack_pair(float first, float second) {
  static_assert(std::is_same_v<S, c10::BFloat16> || std::is_same_v<S, c10::Half>);
#ifdef __CUDA_ARCH__
  unsigned word;
  if constexpr (std::is_same_v<S, c10::BFloat16>) {
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  } else {
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(word) : "f"(second), "f"(first));
  }
  return word;
#else
  return static_cast<unsigned>(S(first).x) | static_cast<unsigned>(S(second).x) << 16;
#endif
}

#ifdef TESSERA_CUDA_ON_CPU
namespace on_cpu {

template <class S>
float half_of(unsigned word, int which) {
  return static_cast<float>(S(static_cast<uint16_t>(word >> 16 * which), S::from_bits()));
}

template <class S>
void multiply_tiles(float (&c)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {
  const unsigned r = lane() / 4, q = lane() % 4;
  unsigned rows[4][4], columns[2][4][2];
  publish(a, sizeof a);
  for (unsigned k = 0; k < 4; ++k) std::memcpy(rows[k], published(4 * r + k), sizeof rows[k]);
  sync_warp();
  publish(b, sizeof b);
  for (unsigned j = 0; j < 2; ++j) {
    for (unsigned k = 0; k < 4; ++k) std::memcpy(columns[j][k], published(4 * (2 * q + j) + k), sizeof columns[j][k]);
  }
  sync_warp();
  for (unsigned i = 0; i < 2; ++i) {
    for (unsigned j = 0; j < 2; ++j) {
      for (int k = 0; k < 16; ++k) {
        const int word = k / 8, holder = k % 8 / 2;
        c[2 * i + j] +=
            half_of<S>(rows[holder][2 * static_cast<unsigned>(word) + i], k % 2) * half_of<S>(columns[j][holder][word], k % 2);
      }
    }
  }
}

}  // namespace on_cpu
#endif

// C += A B. A had best be loaded or computed as one array: from other registers the compiler copies it word by word.
template <class S>
__device__ __forceinline__ void multiply_tiles(float (&c)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifdef TESSERA_CUDA_ON_CPU
  on_cpu::multiply_tiles<S>(c, a, {b0, b1});
#else
  if constexpr (std::is_same_v<S, c10::BFloat16>) {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  } else {
    asm volatile(
        "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  }
#endif
}

#ifdef TESSERA_CUDA_ON_CPU
namespace on_cpu {

// Lane 4 r + q gets elements (r, 2q) and (r, 2q + 1) of each matrix, or (2q, r) and (2q + 1, r) of a turned one.
template <bool kTurned>
void load_matrices(unsigned (&to)[4], const void* row) {
  const unsigned r = lane() / 4, q = lane() % 4;
  publish(&row, sizeof row);
  for (unsigned i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (unsigned j = 0; j < 2; ++j) {
      const unsigned char* from;
      std::memcpy(&from, published(8 * i + (kTurned ? 2 * q + j : r)), sizeof from);
      std::memcpy(&pair[j], from + 2 * (kTurned ? r : 2 * q + j), 2);
    }
    to[i] = static_cast<unsigned>(pair[0]) | static_cast<unsigned>(pair[1]) << 16;
  }
  sync_warp();
}

}  // namespace on_cpu
#endif

// Four matrices of 8 x 8 from shared memory: lane l gives the address of row l % 8 (16 bytes) of matrix l / 8. With rows 0 to
// 15 of 8 columns, then of the next 8, they are an A.
__device__ __forceinline__ void load_tiles(unsigned (&to)[4], const void* row) {
#ifdef TESSERA_CUDA_ON_CPU
  on_cpu::load_matrices<false>(to, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}

// Loads the same with each matrix transposed: then they are the words of B of two neighbouring columns of 8.
__device__ __forceinline__ void load_turned(unsigned (&to)[4], const void* row) {
#ifdef TESSERA_CUDA_ON_CPU
  on_cpu::load_matrices<true>(to, row);
#else
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
               : "r"(static_cast<unsigned>(__cvta_generic_to_shared(row)))
               : "memory");
#endif
}

// Stores what load_tiles would load, to the kernel's dynamic shared memory.
__device__ __forceinline__ void store_tiles(void* row, const unsigned (&from)[4]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(row))),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
#else
  const int lane = static_cast<int>(threadIdx.x) % 32;
  unsigned char* const memory = shared_memory<unsigned char>();
  const int place = static_cast<int>(static_cast<unsigned char*>(row) - memory);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    *reinterpret_cast<unsigned*>(memory + __shfl_sync(kAllLanes, place, 8 * i + lane / 4) + 4 * (lane % 4)) = from[i];
#endif
}

}  // namespace tessera
