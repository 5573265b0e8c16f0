#pragma once
#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <vector>

namespace tessera {

// Batch norm, the addition of a residual and ReLU, forward and backward, in as few passes over memory as the sums allow: two
// readings of x forward, two of x and its result's gradient backward. Fast for channels_last and contiguous x, which may be
// float32, bfloat16, float16 or float64; computes in float32, or float64 for float64, and adds up in float64. Results are the
// same on any number of threads and from run to run.
//
// x: (N, C, H, W), in groups of consecutive samples that end at `ends`, the last at N; each has statistics of its own.

// (G, 2, C) float64: mean and (biased) variance of each group and channel. Not differentiable.
at::Tensor norm_moments(const at::Tensor& x, const std::vector<int64_t>& ends);

// The same, and one update of the running averages per group, in order, as torch.nn.BatchNorm2d makes it.
at::Tensor norm_moments(const at::Tensor& x, const std::vector<int64_t>& ends, const at::Tensor& running_mean,
                        const at::Tensor& running_var, double momentum);

struct NormActOptions {
  std::vector<int64_t> ends = {};
  double eps = 1e-5;
  bool relu = false;
  bool constant_moments = false;  // the moments do not depend on x: running averages
  // Groups that are no part of any statistics: no gradient goes to their samples, nor from them to weight and bias.
  std::vector<int64_t> masked_groups = {};
  // Serves groups that are a part of a unit, the rest of which is elsewhere. Backward calls it with (G, 2, C) float64 means
  // over each group, which it replaces by those over the whole units. Null: the groups are whole.
  std::function<void(at::Tensor& means)> exchange = {};
};

// ReLU?(weight * (x - mean) / sqrt(var + eps) + bias + residual?), in x's type and layout, with gradients for all but the
// moments, through which x's gradient goes unless they are constant. residual: like x, or undefined. Backward keeps x and,
// with residual and ReLU, the result; no mask or copy.
at::Tensor norm_act(const at::Tensor& x, const at::Tensor& residual, const at::Tensor& weight, const at::Tensor& bias,
                    const at::Tensor& moments, const NormActOptions& options);

}  // namespace tessera
