#include "optim/clip.h"

#include <ATen/ATen.h>
#include <ATen/Dispatch.h>
#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

// Sums are made per chunk of this many values, and the sums of the chunks added in order: threads share out whole chunks, so
// their number does not change the result.
constexpr int64_t kChunk = 1 << 15;
// Independent sums within a chunk, so that the compiler may use vector registers without reordering anything.
constexpr int64_t kLanes = 8;

template <class T>
double chunk_square_sum(const T* values, int64_t count) {
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      const auto value = static_cast<double>(values[i + lane]);
      lanes[lane] += value * value;
    }
  }
  for (; i < count; ++i) lanes[0] += static_cast<double>(values[i]) * static_cast<double>(values[i]);
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  return sum;
}

double cpu_norm(const at::Tensor& grads) {
  const int64_t count = grads.numel();
  std::vector<double> sums(static_cast<size_t>((count + kChunk - 1) / kChunk));
  AT_DISPATCH_FLOATING_TYPES(grads.scalar_type(), "cpu_norm", [&] {
    const auto* data = grads.const_data_ptr<scalar_t>();
    at::parallel_for(0, static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        sums[static_cast<size_t>(c)] = chunk_square_sum(data + c * kChunk, std::min(kChunk, count - c * kChunk));
      }
    });
  });
  double sum = 0;
  for (const double chunk : sums) sum += chunk;
  return std::sqrt(sum);
}

}  // namespace

at::Tensor clip_grad_norm(at::Tensor& grads, double max_norm) {
  const at::Tensor norm = grads.is_cpu() ? at::scalar_tensor(cpu_norm(grads), at::kDouble)
                                         : at::linalg_vector_norm(grads, 2, std::nullopt, false, at::kDouble);
  if (max_norm > 0) {
    constexpr double kTorchEps = 1e-6;
    grads.mul_((max_norm / (norm + kTorchEps)).clamp_max(1.0));
  }
  return norm;
}

}  // namespace tessera
