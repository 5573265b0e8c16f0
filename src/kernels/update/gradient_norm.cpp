#include "kernels/update/gradient_norm.h"

#include <ATen/Dispatch.h>
#include <ATen/ops/empty.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "core/error.h"
#include "kernels/common/find_op.h"
#include "kernels/update/loss_scaling.h"
#include "tensor/parallel_for.h"

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

std::tuple<at::Tensor, at::Tensor> gradient_norm_cpu(const at::Tensor& grads, double max_norm,
                                                     const std::optional<at::Tensor>& scaling) {
  const int64_t count = grads.numel();
  // All memory first: where there is none, nothing has moved on.
  const at::Tensor norm_out = at::empty({}, at::kDouble), factor_out = at::empty({}, at::kDouble);
  std::vector<double> sums(static_cast<size_t>((count + kChunk - 1) / kChunk));
  AT_DISPATCH_FLOATING_TYPES(grads.scalar_type(), "gradient_norm", [&] {
    const auto* data = grads.const_data_ptr<scalar_t>();
    parallel_for(0, static_cast<int64_t>(sums.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t c = begin; c < end; ++c) {
        sums[static_cast<size_t>(c)] = chunk_square_sum(data + c * kChunk, std::min(kChunk, count - c * kChunk));
      }
    });
  });
  double sum = 0;
  for (const double chunk : sums) sum += chunk;
  auto* const numbers = scaling ? reinterpret_cast<LossScaling*>(scaling->mutable_data_ptr<double>()) : nullptr;
  const double loss_scale = numbers != nullptr ? numbers->scale : 1.0, norm = std::sqrt(sum) / loss_scale;
  if (numbers != nullptr) move_on(*numbers, std::isfinite(norm));
  const double factor = numbers != nullptr && numbers->held != 0 ? NAN : clip_factor(norm, max_norm, loss_scale);
  *norm_out.mutable_data_ptr<double>() = norm;
  *factor_out.mutable_data_ptr<double>() = factor;
  return {norm_out, factor_out};
}

}  // namespace

GradientNorm gradient_norm(const at::Tensor& grads, double max_norm, const at::Tensor& scaling) {
  TSR_CHECK(grads.is_contiguous(), "the gradients of an arena lie without gaps, these do not");
  TSR_CHECK(!scaling.defined() || (scaling.numel() == kLossScalingNumbers && scaling.scalar_type() == at::kDouble),
            "loss scaling is {} numbers of float64", kLossScalingNumbers);
  static const auto op = find_op<decltype(gradient_norm_cpu)>("tessera::gradient_norm");
  auto [norm, factor] = op.call(grads, max_norm, scaling.defined() ? std::optional(scaling) : std::nullopt);
  return {norm, factor};
}

TORCH_LIBRARY_FRAGMENT(tessera, m) {
  m.def("gradient_norm(Tensor grads, float max_norm, Tensor(a!)? scaling) -> (Tensor norm, Tensor clip_factor)");
}
TORCH_LIBRARY_IMPL(tessera, CPU, m) {
  m.impl("gradient_norm", gradient_norm_cpu);
}

}  // namespace tessera
