#include <ATen/Dispatch.h>

#include "cuda/launch.h"
#include "cuda/pack.h"
#include "kernels/step_numbers.h"

namespace tessera {
namespace {

constexpr int kUpdateThreads = 256;
constexpr int kRounds = 4;  // vectors that each thread updates

template <class T>
struct Arenas {
  T* w;
  const T* g;
  T *first, *second;
};

struct Runs {
  const RunBounds* bounds;
  const RunRates* rates;
  int count;
};

// The first run in [low, high) that ends behind `place`, or `high`.
__device__ __forceinline__ int find_run(const RunBounds* bounds, int low, int high, int64_t place) {
  while (low < high) {
    const int middle = (low + high) / 2;
    if (bounds[middle].end <= place) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

template <UpdateRule kRule, class T>
__device__ __forceinline__ void update_pack(const Arenas<T>& a, int64_t at, const RunNumbers<T>& n) {
  constexpr int kSize = Pack<T>::kSize;
  Pack<T> w = load_pack<kSize>(a.w + at), first{}, second{};
  const Pack<T> g = load_pack<kSize>(a.g + at);
  if constexpr (kRule != UpdateRule::kSgd) first = load_pack<kSize>(a.first + at);
  if constexpr (kRule == UpdateRule::kAdam) second = load_pack<kSize>(a.second + at);
  for (int i = 0; i < kSize; ++i) update_value<kRule>(w.value[i], g.value[i], first.value[i], second.value[i], n);
  store_pack(a.w + at, w);
  if constexpr (kRule != UpdateRule::kSgd) store_pack(a.first + at, first);
  if constexpr (kRule == UpdateRule::kAdam) store_pack(a.second + at, second);
}

template <UpdateRule kRule, class T>
__device__ __forceinline__ void update_one(const Arenas<T>& a, int64_t at, const RunNumbers<T>& n) {
  T first = 0, second = 0;
  if constexpr (kRule != UpdateRule::kSgd) first = a.first[at];
  if constexpr (kRule == UpdateRule::kAdam) second = a.second[at];
  update_value<kRule>(a.w[at], a.g[at], first, second, n);
  if constexpr (kRule != UpdateRule::kSgd) a.first[at] = first;
  if constexpr (kRule == UpdateRule::kAdam) a.second[at] = second;
}

// A block updates a stretch of the arena, each thread some vectors of it. Traffic per float32 value: 20 bytes with momentum
// (weight and momentum both ways, gradient), 28 with Adam.
template <UpdateRule kRule, class T>
__global__ void __launch_bounds__(kUpdateThreads)
    optimizer_kernel(Arenas<T> arenas, int64_t numel, bool aligned, Runs runs, const double* factor, StepNumbers numbers) {
  constexpr int kSize = Pack<T>::kSize, kStretch = kUpdateThreads * kRounds * kSize;
  const int64_t begin = static_cast<int64_t>(blockIdx.x) * kStretch;
  // Most stretches lie in one run: the block finds the first and the last of its runs, a thread only looks between them.
  const int first = find_run(runs.bounds, 0, runs.count, begin);
  const int last = find_run(runs.bounds, first, runs.count, begin + kStretch - 1);
  const double scale = factor != nullptr ? *factor : 1.0;
  int known = -1;
  RunNumbers<T> n{};
  const auto select = [&](int run) {
    if (run != known) n = run_numbers<T>(numbers, runs.rates[run], scale);
    known = run;
  };
  for (int round = 0; round < kRounds; ++round) {
    const int64_t at = begin + (static_cast<int64_t>(round) * kUpdateThreads + threadIdx.x) * kSize;
    if (at >= numel) return;
    int run = find_run(runs.bounds, first, last, at);
    if (run >= runs.count) return;
    if (aligned && runs.bounds[run].begin <= at && at + kSize <= runs.bounds[run].end) {
      select(run);
      update_pack<kRule>(arenas, at, n);
      continue;
    }
    for (int64_t i = at; i < at + kSize; ++i) {
      while (run < runs.count && runs.bounds[run].end <= i) ++run;
      if (run >= runs.count) return;
      if (i < runs.bounds[run].begin) continue;
      select(run);
      update_one<kRule>(arenas, i, n);
    }
  }
}

void optimizer_step_cuda(at::Tensor params, const at::Tensor& grads, at::TensorList state, const at::Tensor& bounds,
                         const at::Tensor& rates, const std::optional<at::Tensor>& factor, int64_t rule,
                         at::ArrayRef<double> numbers) {
  const DeviceGuard guard(params.device());
  const Runs runs{reinterpret_cast<const RunBounds*>(bounds.const_data_ptr<int64_t>()),
                  reinterpret_cast<const RunRates*>(rates.const_data_ptr<double>()), static_cast<int>(bounds.size(0))};
  const double* const scale = factor ? factor->const_data_ptr<double>() : nullptr;
  AT_DISPATCH_FLOATING_TYPES(params.scalar_type(), "optimizer_step", [&] {
    const Arenas<scalar_t> arenas{params.mutable_data_ptr<scalar_t>(), grads.const_data_ptr<scalar_t>(),
                                  !state.empty() ? state[0].mutable_data_ptr<scalar_t>() : nullptr,
                                  state.size() > 1 ? state[1].mutable_data_ptr<scalar_t>() : nullptr};
    const bool aligned = is_aligned(arenas.w) && is_aligned(arenas.g) && is_aligned(arenas.first) && is_aligned(arenas.second);
    constexpr int64_t kStretch = kUpdateThreads * kRounds * Pack<scalar_t>::kSize;
    const auto blocks = static_cast<unsigned>((params.numel() + kStretch - 1) / kStretch);
    with_rule(rule, [&](auto chosen) {
      launch(optimizer_kernel<decltype(chosen)::value, scalar_t>, blocks, kUpdateThreads, 0, arenas, params.numel(), aligned,
             runs, scale, from_list(numbers));
    });
  });
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("optimizer_step", optimizer_step_cuda);
}

}  // namespace tessera
