// Batch norm + residual + ReLU, see kernels/norm/norm_act.h. All kernels are bound by memory; with s the bytes of x they move
//   forward   moments: s    apply: 2 s (3 s with a residual)
//   backward  sums: 2 s (with residual and ReLU 4 s, which write the residual's gradient)    grad_x: 3 s
// and a few numbers per channel. A block's threads stand in columns of channels, 16 bytes each where pointers and channels
// allow it, and rows of pixels. Sums of blocks go to a scratch, and the last block that is done adds them up in the order of
// blocks: no atomics on floating-point numbers, the same bits from run to run on any GPU.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <optional>
#include <tuple>

#include "cuda/norm/norm_arguments.h"
#include "cuda/norm/norm_kernels.h"
#include "cuda/norm/norm_shapes.h"

namespace tessera {
namespace {

template <class T>
T* pointer_of(const std::optional<at::Tensor>& tensor) {
  return tensor ? tensor->mutable_data_ptr<T>() : nullptr;
}

at::Tensor norm_moments_cuda(const at::Tensor& given, at::IntArrayRef ends, const std::optional<at::Tensor>& running_mean,
                             const std::optional<at::Tensor>& running_var, double momentum) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given);
  const at::Tensor moments =
      at::empty({static_cast<int64_t>(ends.size()), 2, x.size(1)}, at::TensorOptions(x.device()).dtype(at::kDouble));
  for_each_launch(x, ends, {x.const_data_ptr()}, [&](auto zero, auto pack, size_t first) {
    using S = decltype(zero);
    using T = Compute<S>;
    constexpr NormShape kShape = kMomentsShape;
    const NormRows rows = norm_rows(x, ends, first, pack, kSumChannels, kShape);
    launch_sums<T>(moments_kernel<S, pack>, rows, pack, kShape, x, x.const_data_ptr<S>(), pairs_of(moments, first),
                   pointer_of<T>(running_mean), pointer_of<T>(running_var), momentum);
  });
  return moments;
}

at::Tensor norm_act_cuda(const at::Tensor& given, const std::optional<at::Tensor>& given_residual, const at::Tensor& moments,
                         const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), y = at::empty_like(x);
  const at::Tensor residual = given_residual ? in_rows(*given_residual) : at::Tensor();
  const void* const added = given_residual ? residual.const_data_ptr() : nullptr;
  for_each_launch(x, ends, {x.const_data_ptr(), added, y.const_data_ptr()}, [&](auto zero, auto pack, size_t first) {
    using S = decltype(zero);
    using T = Compute<S>;
    const auto start = [&](auto kernel, const NormShape& shape) {
      const NormRows rows = norm_rows(x, ends, first, pack, kMostChannels, shape);
      launch_form<OutputForm<T, pack>>(kernel, rows, pack, shape, x.const_data_ptr<S>(), static_cast<const S*>(added),
                                       y.mutable_data_ptr<S>(), numbers_of<T>(moments, weight, bias, eps, first));
    };
    constexpr NormShape kPlain = apply_shape(false), kAdd = apply_shape(true);
    if (given_residual) {
      start(relu ? apply_kernel<S, pack, true, true> : apply_kernel<S, pack, true, false>, kAdd);
    } else {
      start(relu ? apply_kernel<S, pack, false, true> : apply_kernel<S, pack, false, false>, kPlain);
    }
  });
  return laid_out_like(y, given);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_cuda(
    const at::Tensor& given_grad, const at::Tensor& given, const std::optional<at::Tensor>& given_y, const at::Tensor& moments,
    const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), grad_out = in_rows(given_grad), y = given_y ? in_rows(*given_y) : at::Tensor();
  const at::Tensor gated = given_y ? at::empty_like(x) : at::empty({0}, x.options());
  const at::Tensor means = at::empty_like(moments), grad_weight = at::empty_like(weight), grad_bias = at::empty_like(weight);
  const void* const output = given_y ? y.const_data_ptr() : nullptr;
  for_each_launch(x, ends, {x.const_data_ptr(), grad_out.const_data_ptr(), output, gated.const_data_ptr()},
                  [&](auto zero, auto pack, size_t first) {
                    using S = decltype(zero);
                    using T = Compute<S>;
                    constexpr NormShape kShape = kSumsShape;
                    const NormRows rows = norm_rows(x, ends, first, pack, kSumChannels, kShape);
                    launch_sums<T>(given_y ? sums_kernel<S, pack, Gate::kOutput>
                                   : relu  ? sums_kernel<S, pack, Gate::kForm>
                                           : sums_kernel<S, pack, Gate::kNone>,
                                   rows, pack, kShape, x, grad_out.const_data_ptr<S>(), x.const_data_ptr<S>(),
                                   static_cast<const S*>(output), gated.mutable_data_ptr<S>(),
                                   numbers_of<T>(moments, weight, bias, eps, first),
                                   results_in<T>(means, grad_weight, grad_bias, first));
                  });
  return {means, grad_weight, grad_bias, given_y ? laid_out_like(gated, given) : gated};
}

at::Tensor norm_act_backward_cuda(const at::Tensor& given_grad, const at::Tensor& given, const at::Tensor& moments,
                                  const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                  at::IntArrayRef ends, double eps, bool relu) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), grad_out = in_rows(given_grad), grad_x = at::empty_like(x);
  const at::Tensor group_means = means ? means->contiguous() : at::Tensor();
  for_each_launch(x, ends, {x.const_data_ptr(), grad_out.const_data_ptr(), grad_x.const_data_ptr()},
                  [&](auto zero, auto pack, size_t first) {
                    using S = decltype(zero);
                    using T = Compute<S>;
                    constexpr NormShape kShape = kBackwardShape;
                    const NormRows rows = norm_rows(x, ends, first, pack, kMostChannels, kShape);
                    launch_form<InputGradForm<T, pack>>(
                        relu ? backward_kernel<S, pack, true> : backward_kernel<S, pack, false>, rows, pack, kShape,
                        grad_out.const_data_ptr<S>(), x.const_data_ptr<S>(), grad_x.mutable_data_ptr<S>(),
                        numbers_of<T>(moments, weight, bias, eps, first), pairs_of(group_means, first));
                  });
  return laid_out_like(grad_x, given);
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("norm_moments", norm_moments_cuda);
  m.impl("norm_act", norm_act_cuda);
  m.impl("norm_act_sums", norm_act_sums_cuda);
  m.impl("norm_act_backward", norm_act_backward_cuda);
}

}  // namespace tessera
