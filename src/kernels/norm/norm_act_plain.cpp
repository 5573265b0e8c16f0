#include "kernels/norm/norm_act_plain.h"

#include <ATen/ATen.h>

#include <functional>

namespace tessera {
namespace {

// Computes in float32 for half types, else in x's own.
at::ScalarType compute_type(const at::Tensor& x) {
  return x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
}

at::Tensor per_channel(const at::Tensor& values, at::ScalarType type) {
  return values.to(type).view({1, -1, 1, 1});
}

double count_of(const at::Tensor& part) {
  return static_cast<double>(part.numel() / part.size(1));
}

// Calls work(group, first sample, number of samples).
void for_each_group(at::IntArrayRef ends, const std::function<void(int64_t, int64_t, int64_t)>& work) {
  int64_t begin = 0;
  for (size_t g = 0; g < ends.size(); begin = ends[g++]) work(static_cast<int64_t>(g), begin, ends[g] - begin);
}

at::Tensor normalised(const at::Tensor& part, const at::Tensor& moments, double eps) {
  const auto type = compute_type(part);
  return (part.to(type) - per_channel(moments[0], type)) * per_channel((moments[1] + eps).rsqrt(), type);
}

at::Tensor gated_part(const at::Tensor& grad_out, const at::Tensor& normal, const at::Tensor& weight, const at::Tensor& bias,
                      bool relu) {
  const auto type = normal.scalar_type();
  if (!relu) return grad_out.to(type);
  return grad_out.to(type).masked_fill(normal * per_channel(weight, type) + per_channel(bias, type) <= 0, 0);
}

}  // namespace

at::Tensor norm_moments_plain(const at::Tensor& x, at::IntArrayRef ends, const std::optional<at::Tensor>& running_mean,
                              const std::optional<at::Tensor>& running_var, double momentum) {
  std::vector<at::Tensor> moments;
  for_each_group(ends, [&](int64_t, int64_t begin, int64_t samples) {
    const at::Tensor part = x.narrow(0, begin, samples).to(compute_type(x));
    const auto [var, mean] = at::var_mean(part, at::IntArrayRef{0, 2, 3}, /*correction=*/0);
    moments.push_back(at::stack({mean, var}).to(at::kDouble));
    if (!running_mean) return;
    const double unbiased = count_of(part) / (count_of(part) - 1);
    running_mean->mul_(1 - momentum).add_(mean, momentum);
    running_var->mul_(1 - momentum).add_(var, momentum * unbiased);
  });
  return at::stack(moments);
}

at::Tensor norm_act_plain(const at::Tensor& x, const std::optional<at::Tensor>& residual, const at::Tensor& moments,
                          const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const auto type = compute_type(x);
  at::Tensor y = at::empty_like(x);
  for_each_group(ends, [&](int64_t g, int64_t begin, int64_t samples) {
    at::Tensor v =
        normalised(x.narrow(0, begin, samples), moments[g], eps) * per_channel(weight, type) + per_channel(bias, type);
    if (residual) v += residual->narrow(0, begin, samples);
    y.narrow(0, begin, samples).copy_(relu ? v.relu() : v);
  });
  return y;
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_plain(const at::Tensor& grad_out, const at::Tensor& x,
                                                                               const std::optional<at::Tensor>& y,
                                                                               const at::Tensor& moments,
                                                                               const at::Tensor& weight, const at::Tensor& bias,
                                                                               at::IntArrayRef ends, double eps, bool relu) {
  const at::Tensor gated = y ? grad_out.masked_fill(*y <= 0, 0) : at::empty({0}, x.options());
  const at::Tensor& from = y ? gated : grad_out;
  std::vector<at::Tensor> means;
  at::Tensor sums = at::zeros_like(moments[0]);
  for_each_group(ends, [&](int64_t g, int64_t begin, int64_t samples) {
    const at::Tensor part = x.narrow(0, begin, samples), normal = normalised(part, moments[g], eps);
    const at::Tensor d = gated_part(from.narrow(0, begin, samples), normal, weight, bias, relu && !y);
    const at::Tensor found = at::stack({d.sum({0, 2, 3}, false, at::kDouble), (d * normal).sum({0, 2, 3}, false, at::kDouble)});
    sums += found;
    means.push_back(found / count_of(part));
  });
  return {at::stack(means), sums[1].to(weight.scalar_type()), sums[0].to(weight.scalar_type()), gated};
}

at::Tensor norm_act_backward_plain(const at::Tensor& grad_out, const at::Tensor& x, const at::Tensor& moments,
                                   const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                   at::IntArrayRef ends, double eps, bool relu) {
  const auto type = compute_type(x);
  at::Tensor grad_x = at::empty_like(x);
  for_each_group(ends, [&](int64_t g, int64_t begin, int64_t samples) {
    const at::Tensor normal = normalised(x.narrow(0, begin, samples), moments[g], eps);
    at::Tensor d = gated_part(grad_out.narrow(0, begin, samples), normal, weight, bias, relu);
    if (means) d = d - per_channel((*means)[g][0], type) - normal * per_channel((*means)[g][1], type);
    grad_x.narrow(0, begin, samples).copy_(d * per_channel(weight.to(at::kDouble) * (moments[g][1] + eps).rsqrt(), type));
  });
  return grad_x;
}

}  // namespace tessera
