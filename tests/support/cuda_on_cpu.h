#pragma once
// CUDA kernels on the CPU, for tests where there is no GPU. A block's threads are fibers that take turns; blocks run one after
// another. It finds wrong indices, wrong sums, missing barriers that deadlock; not races between threads, and nothing of speed.
// A .cu file that includes cuda/common/launch.h is compiled as C++ with TESSERA_CUDA_ON_CPU; its ops then take the
// place of the CPU's own in that program.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static  // one block at a time, on one thread
#define __launch_bounds__(...)
#define __grid_constant__

struct dim3 {
  constexpr dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
  unsigned x, y, z;
};
struct alignas(16) int4 {
  int x, y, z, w;
};
inline dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace tessera {

struct DeviceGuard {
  explicit DeviceGuard(at::Device) {}
};

namespace on_cpu {

// All threads of all blocks call `kernel`.
void run_grid(dim3 grid, dim3 block, size_t shared_bytes, const std::function<void()>& kernel);
unsigned char* shared_bytes();
void sync_block();
void sync_warp();
// What lane `lane` of the own warp published together with the own last publish; valid until the own next.
void publish(const void* value, size_t size);
const void* published(unsigned lane);
bool took_part(unsigned lane);  // or it had returned by then
unsigned lane();

template <class T>
T exchange(T value, unsigned from) {
  static_assert(sizeof(T) <= 16);
  publish(&value, sizeof value);
  T result;
  std::memcpy(&result, published(from < 32 ? from : lane()), sizeof result);
  return result;
}

// Calls visit(lane, value) for every lane of the warp that takes part.
template <class T, class Visit>
void all_lanes(T value, Visit&& visit) {
  static_assert(sizeof(T) <= 16);
  publish(&value, sizeof value);
  for (unsigned lane = 0; lane < 32; ++lane) {
    if (!took_part(lane)) continue;
    T other;
    std::memcpy(&other, published(lane), sizeof other);
    visit(lane, other);
  }
}

}  // namespace on_cpu

template <class T>
T* shared_memory() {
  return reinterpret_cast<T*>(on_cpu::shared_bytes());
}

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, size_t shared_bytes, const Arguments&... arguments) {
  on_cpu::run_grid(grid, block, shared_bytes, [&] { kernel(static_cast<Parameters>(arguments)...); });
}

}  // namespace tessera

inline void __syncthreads() {
  tessera::on_cpu::sync_block();
}
inline void __syncwarp(unsigned = ~0u) {
  tessera::on_cpu::sync_warp();
}
inline void __threadfence() {}
template <class T>
T __shfl_sync(unsigned, T value, unsigned lane) {
  return tessera::on_cpu::exchange(value, lane % 32);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, unsigned mask) {
  return tessera::on_cpu::exchange(value, tessera::on_cpu::lane() ^ mask);
}
template <class T>
T __shfl_down_sync(unsigned, T value, unsigned distance) {
  return tessera::on_cpu::exchange(value, tessera::on_cpu::lane() + distance);
}
template <class T>
T __shfl_up_sync(unsigned, T value, unsigned distance) {
  return tessera::on_cpu::exchange(value, tessera::on_cpu::lane() - distance);
}
using std::max;
using std::min;
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned bits = 0;
  tessera::on_cpu::all_lanes(predicate, [&](unsigned lane, int other) { bits |= other != 0 ? 1u << lane : 0u; });
  return bits;
}
inline int __any_sync(unsigned mask, int predicate) {
  return __ballot_sync(mask, predicate) != 0;
}
template <class T>
unsigned __match_any_sync(unsigned, T value) {
  unsigned bits = 0;
  tessera::on_cpu::all_lanes(value, [&](unsigned lane, T other) { bits |= other == value ? 1u << lane : 0u; });
  return bits;
}
template <class T>
T __reduce_max_sync(unsigned, T value) {
  tessera::on_cpu::all_lanes(value, [&](unsigned, T other) { value = std::max(value, other); });
  return value;
}
template <class T>
T __reduce_min_sync(unsigned, T value) {
  tessera::on_cpu::all_lanes(value, [&](unsigned, T other) { value = std::min(value, other); });
  return value;
}
inline unsigned __float_as_uint(float x) {
  unsigned bits;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}
inline int __popc(unsigned bits) {
  return __builtin_popcount(bits);
}
inline int __ffs(int bits) {
  return __builtin_ffs(bits);
}
template <class T>
T __ldg(const T* from) {
  return *from;
}
inline unsigned atomicInc(unsigned* to, unsigned last) {
  const unsigned before = *to;
  *to = before >= last ? 0 : before + 1;
  return before;
}
template <class T, class U>
T atomicAdd(T* to, U value) {
  const T before = *to;
  *to += static_cast<T>(value);
  return before;
}
inline float __expf(float x) {
  return std::exp(x);
}
inline float __logf(float x) {
  return std::log(x);
}
inline float __fdividef(float a, float b) {
  return a / b;
}
inline float rsqrtf(float x) {
  return 1 / std::sqrt(x);
}
inline double rsqrt(double x) {
  return 1 / std::sqrt(x);
}

// In place of TORCH_LIBRARY_IMPL(tessera, CUDA, ...).
namespace tessera::on_cpu {
using Registration = void (*)(torch::Library&);
struct Registrar {
  explicit Registrar(Registration registration);
};
// From here on the registered ops are the CPU's.
void use_cuda_kernels();
}  // namespace tessera::on_cpu
#define TSR_CUDA_OPS(library) TSR_CUDA_OPS_NUMBERED(library, __COUNTER__)
#define TSR_CUDA_OPS_NUMBERED(library, number) TSR_CUDA_OPS_NAMED(library, number)
#define TSR_CUDA_OPS_NAMED(library, number)                                      \
  static void register_##number(torch::Library&);                                \
  static const tessera::on_cpu::Registrar registrar_##number(register_##number); \
  static void register_##number(torch::Library& library)
