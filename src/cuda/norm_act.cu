// Batch norm + residual + ReLU, see kernels/norm_act.h. All kernels are bound by memory; with s the bytes of x they move
//   forward   moments: s    apply: 2 s (3 s with a residual)
//   backward  sums: 2 s (with residual and ReLU 4 s, which write the residual's gradient)    dx: 3 s
// and a few numbers per channel. A block's threads stand in columns of channels, 16 bytes each where pointers and channels
// allow it, and rows of pixels. Sums of blocks go to a scratch, and a second, small launch adds them up in the order of blocks:
// no atomics and no counters to clear, the same bits from run to run on any GPU.
#include <ATen/ATen.h>

#include <cmath>
#include <optional>
#include <tuple>

#include "cuda/launch.h"
#include "cuda/norm_launch.h"

namespace tessera {
namespace {

// A group's mean and deviation of a channel, see Note [Split mean].
template <class T>
struct ChannelSplit {
  __device__ ChannelSplit(const NormRows& rows, const double* moments, int group, int64_t c, double eps) {
    const double mean = moments[2 * group * rows.channels + c];
    centre = static_cast<T>(mean);
    rest = static_cast<T>(mean - static_cast<double>(centre));
    inverse = T(1) / sqrt(static_cast<T>(moments[(2 * group + 1) * rows.channels + c] + eps));
  }
  T centre, rest, inverse;
};

// The thread's channels before residual and ReLU. One function for all kernels: backward must find the same signs.
template <class S, int kPack>
struct OutputForm {
  using T = ComputeType<S>;
  __device__ OutputForm(const NormBlock<kPack>& block, const NormRows& rows, const double* moments, const T* weight,
                        const T* bias, double eps) {
    for (int k = 0; k < kPack; ++k) {
      const ChannelSplit<T> split(rows, moments, block.group, block.channel + k, eps);
      centre[k] = split.centre;
      scale[k] = weight[block.channel + k] * split.inverse;
      shift[k] = bias[block.channel + k] - split.rest * scale[k];
    }
  }
  __device__ __forceinline__ T of(T x, int k) const { return fma(x - centre[k], scale[k], shift[k]); }
  T centre[kPack], scale[kPack], shift[kPack];
};

template <class S, int kPack>
__global__ void __launch_bounds__(kNormThreads, 2) moments_kernel(NormRows rows, const S* x, double* partials) {
  using T = ComputeType<S>;
  const NormBlock<kPack> block(rows);
  T origin[kPack] = {}, sum[kPack] = {}, squares[kPack] = {};
  if (block.inside) {
    // Relative to the block's first row: then sums of squares cannot cancel by more than its number of rows.
    const NormPack<S, kPack> first = block.load(x, block.begin);
    for (int k = 0; k < kPack; ++k) origin[k] = static_cast<T>(first.value[k]);
    const S* const inputs[] = {x};
    block.template for_each_row<1, S>(inputs, [&](int64_t, const NormPack<S, kPack>* in) {
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const T d = static_cast<T>(in[0].value[k]) - origin[k];
        sum[k] += d;
        squares[k] += d * d;
      }
    });
  }
  block.add_up(sum);
  block.add_up(squares);
  if (!block.inside || block.row_lane != 0) return;
  const auto count = static_cast<double>(block.end - block.begin);
  double* const to = partials + block.partial(rows);
  for (int k = 0; k < kPack; ++k) {
    const double first = static_cast<double>(sum[k]), deviations = static_cast<double>(squares[k]) - first * first / count;
    to[k] = static_cast<double>(origin[k]) + first / count;
    to[rows.channels + k] = deviations < 0 ? 0 : deviations;  // a NaN stays
  }
}

// Mean and variance of each group from those of its blocks; one update of the running averages per group, in order.
template <class T>
__global__ void moments_end_kernel(NormRows rows, const double* partials, double* moments, T* running_mean, T* running_var,
                                   double momentum) {
  const PartialSums sums(rows);
  const int64_t c = sums.channel;
  for (int g = 0; g < rows.groups; ++g) {
    const double* const from = partials + rows.first_partial(g) + c;
    const double origin = sums.inside ? from[0] : 0;  // in float64 any block's mean is near enough
    const SumPair found = sums.over(rows.chunks, [&](int64_t chunk) {
      const auto count = static_cast<double>(rows.length(g, chunk));
      if (count == 0) return SumPair{0, 0};
      const double* const at = from + 2 * chunk * rows.channels;
      const double d = at[0] - origin;
      return SumPair{count * d, at[rows.channels] + count * d * d};
    });
    if (!sums.inside || sums.lane != 0) continue;
    const double count = static_cast<double>(rows.count(g)), d = found.first / count;
    const double spread = found.second / count - d * d, var = spread < 0 ? 0 : spread, mean = origin + d;
    moments[2 * g * rows.channels + c] = mean;
    moments[(2 * g + 1) * rows.channels + c] = var;
    if (running_mean == nullptr) continue;
    running_mean[c] = static_cast<T>((1 - momentum) * static_cast<double>(running_mean[c]) + momentum * mean);
    running_var[c] =
        static_cast<T>((1 - momentum) * static_cast<double>(running_var[c]) + momentum * (count / (count - 1)) * var);
  }
}

template <class S, int kPack>
__global__ void __launch_bounds__(kNormThreads, 2)
    apply_kernel(NormRows rows, const S* x, const S* residual, S* y, const double* moments, const ComputeType<S>* weight,
                 const ComputeType<S>* bias, double eps, bool relu) {
  using T = ComputeType<S>;
  const NormBlock<kPack> block(rows);
  if (!block.inside) return;
  const OutputForm<S, kPack> form(block, rows, moments, weight, bias, eps);
  const S* const inputs[] = {x, residual};
  block.template for_each_row<2, S>(inputs, [&](int64_t row, const NormPack<S, kPack>* in) {
    NormPack<S, kPack> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      T v = form.of(static_cast<T>(in[0].value[k]), k);
      if (residual != nullptr) v += static_cast<T>(in[1].value[k]);
      out.value[k] = static_cast<S>(relu && v < T(0) ? T(0) : v);  // a NaN stays
    }
    block.store(y, row, out);
  });
}

// Sums of dy' and dy' * (x - centre), where dy' is dy with 0 where ReLU cut. kOutput: y says where, and `gated` gets dy'; else
// they are null.
template <class S, int kPack, bool kOutput>
__global__ void __launch_bounds__(kNormThreads, 2)
    sums_kernel(NormRows rows, const S* dy, const S* x, const S* y, S* gated, const double* moments,
                const ComputeType<S>* weight, const ComputeType<S>* bias, double eps, bool relu, double* partials) {
  using T = ComputeType<S>;
  const NormBlock<kPack> block(rows);
  T sum[kPack] = {}, dot[kPack] = {};
  if (block.inside) {
    const OutputForm<S, kPack> form(block, rows, moments, weight, bias, eps);
    const S* const inputs[] = {dy, x, y};
    block.template for_each_row<kOutput ? 3 : 2, S>(inputs, [&](int64_t row, const NormPack<S, kPack>* in) {
      NormPack<S, kPack> out = in[0];
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const T value = static_cast<T>(in[1].value[k]);
        if (relu && (kOutput ? static_cast<T>(in[kOutput ? 2 : 1].value[k]) : form.of(value, k)) <= T(0)) out.value[k] = S(0);
        const T slope = static_cast<T>(out.value[k]);
        sum[k] += slope;
        dot[k] += slope * (value - form.centre[k]);
      }
      if constexpr (kOutput) block.store(gated, row, out);
    });
  }
  block.add_up(sum);
  block.add_up(dot);
  if (!block.inside || block.row_lane != 0) return;
  double* const to = partials + block.partial(rows);
  for (int k = 0; k < kPack; ++k) {
    to[k] = static_cast<double>(sum[k]);
    to[rows.channels + k] = static_cast<double>(dot[k]);
  }
}

// Means over each group, and the gradients of weight and bias, to which further launches add.
template <class T>
__global__ void sums_end_kernel(NormRows rows, const double* partials, const double* moments, double eps, bool further,
                                double* means, T* weight_grad, T* bias_grad) {
  const PartialSums sums(rows);
  const int64_t c = sums.channel;
  double of_weight = 0, of_bias = 0;
  for (int g = 0; g < rows.groups; ++g) {
    const double* const from = partials + rows.first_partial(g) + c;
    const SumPair found = sums.over(rows.chunks, [&](int64_t chunk) {
      const double* const at = from + 2 * chunk * rows.channels;
      return rows.length(g, chunk) > 0 ? SumPair{at[0], at[rows.channels]} : SumPair{0, 0};
    });
    if (!sums.inside || sums.lane != 0) continue;
    const ChannelSplit<T> split(rows, moments, g, c, eps);
    const double dot = (found.second - static_cast<double>(split.rest) * found.first) * static_cast<double>(split.inverse);
    const auto count = static_cast<double>(rows.count(g));
    means[2 * g * rows.channels + c] = found.first / count;
    means[(2 * g + 1) * rows.channels + c] = dot / count;
    of_bias += found.first;
    of_weight += dot;
  }
  if (!sums.inside || sums.lane != 0) return;
  weight_grad[c] = static_cast<T>(of_weight) + (further ? weight_grad[c] : T(0));
  bias_grad[c] = static_cast<T>(of_bias) + (further ? bias_grad[c] : T(0));
}

// means: null where the moments are constants.
template <class S, int kPack>
__global__ void __launch_bounds__(kNormThreads, 2)
    backward_kernel(NormRows rows, const S* dy, const S* x, S* dx, const double* moments, const double* means,
                    const ComputeType<S>* weight, const ComputeType<S>* bias, double eps, bool relu) {
  using T = ComputeType<S>;
  const NormBlock<kPack> block(rows);
  if (!block.inside) return;
  const OutputForm<S, kPack> form(block, rows, moments, weight, bias, eps);
  T of_x[kPack] = {}, constant[kPack] = {};
  if (means != nullptr) {
    const double* const pair = means + 2 * block.group * rows.channels + block.channel;
    for (int k = 0; k < kPack; ++k) {
      const ChannelSplit<T> split(rows, moments, block.group, block.channel + k, eps);
      of_x[k] = -form.scale[k] * split.inverse * static_cast<T>(pair[rows.channels + k]);
      constant[k] = -form.scale[k] * static_cast<T>(pair[k]) - split.rest * of_x[k];
    }
  }
  const S* const inputs[] = {dy, x};
  block.template for_each_row<2, S>(inputs, [&](int64_t row, const NormPack<S, kPack>* in) {
    NormPack<S, kPack> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const T value = static_cast<T>(in[1].value[k]);
      const T slope = relu && form.of(value, k) <= T(0) ? T(0) : static_cast<T>(in[0].value[k]);
      out.value[k] = static_cast<S>(form.scale[k] * slope + (of_x[k] * (value - form.centre[k]) + constant[k]));
    }
    block.store(dx, row, out);
  });
}

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
  for_each_launch(x, ends, {x.const_data_ptr()}, kSumBlocks, [&](auto zero, auto pack, const NormRows& rows, int64_t first) {
    using S = decltype(zero);
    using T = ComputeType<S>;
    const at::Tensor partials = scratch_for(rows, x);
    launch(moments_kernel<S, pack>, grid_of(rows, pack), kNormThreads, kNormThreads * pack * sizeof(T), rows,
           x.const_data_ptr<S>(), partials.mutable_data_ptr<double>());
    launch(moments_end_kernel<T>, end_grid_of(rows), end_threads_of(rows), end_threads_of(rows) * sizeof(SumPair), rows,
           partials.const_data_ptr<double>(), moments.mutable_data_ptr<double>() + 2 * first * x.size(1),
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
  for_each_launch(x, ends, {x.const_data_ptr(), added, y.const_data_ptr()}, kApplyBlocks,
                  [&](auto zero, auto pack, const NormRows& rows, int64_t first) {
                    using S = decltype(zero);
                    using T = ComputeType<S>;
                    launch(apply_kernel<S, pack>, grid_of(rows, pack), kNormThreads, 0, rows, x.const_data_ptr<S>(),
                           static_cast<const S*>(added), y.mutable_data_ptr<S>(),
                           moments.const_data_ptr<double>() + 2 * first * x.size(1), weight.const_data_ptr<T>(),
                           bias.const_data_ptr<T>(), eps, relu);
                  });
  return laid_out_like(y, given);
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor> norm_act_sums_cuda(
    const at::Tensor& given_dy, const at::Tensor& given, const std::optional<at::Tensor>& given_y, const at::Tensor& moments,
    const at::Tensor& weight, const at::Tensor& bias, at::IntArrayRef ends, double eps, bool relu) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), dy = in_rows(given_dy), y = given_y ? in_rows(*given_y) : at::Tensor();
  const at::Tensor gated = given_y ? at::empty_like(x) : at::empty({0}, x.options());
  const at::Tensor means = at::empty_like(moments), weight_grad = at::empty_like(weight), bias_grad = at::empty_like(weight);
  const void* const output = given_y ? y.const_data_ptr() : nullptr;
  for_each_launch(x, ends, {x.const_data_ptr(), dy.const_data_ptr(), output, gated.const_data_ptr()}, kSumBlocks,
                  [&](auto zero, auto pack, const NormRows& rows, int64_t first) {
                    using S = decltype(zero);
                    using T = ComputeType<S>;
                    const at::Tensor partials = scratch_for(rows, x);
                    const double* const of_groups = moments.const_data_ptr<double>() + 2 * first * x.size(1);
                    launch(given_y ? sums_kernel<S, pack, true> : sums_kernel<S, pack, false>, grid_of(rows, pack),
                           kNormThreads, kNormThreads * pack * sizeof(T), rows, dy.const_data_ptr<S>(), x.const_data_ptr<S>(),
                           static_cast<const S*>(output), gated.mutable_data_ptr<S>(), of_groups, weight.const_data_ptr<T>(),
                           bias.const_data_ptr<T>(), eps, relu, partials.mutable_data_ptr<double>());
                    launch(sums_end_kernel<T>, end_grid_of(rows), end_threads_of(rows), end_threads_of(rows) * sizeof(SumPair),
                           rows, partials.const_data_ptr<double>(), of_groups, eps, first > 0,
                           means.mutable_data_ptr<double>() + 2 * first * x.size(1), weight_grad.mutable_data_ptr<T>(),
                           bias_grad.mutable_data_ptr<T>());
                  });
  return {means, weight_grad, bias_grad, given_y ? laid_out_like(gated, given) : gated};
}

at::Tensor norm_act_backward_cuda(const at::Tensor& given_dy, const at::Tensor& given, const at::Tensor& moments,
                                  const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                  at::IntArrayRef ends, double eps, bool relu) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), dy = in_rows(given_dy), dx = at::empty_like(x);
  const at::Tensor slopes = means ? means->contiguous() : at::Tensor();
  for_each_launch(x, ends, {x.const_data_ptr(), dy.const_data_ptr(), dx.const_data_ptr()}, kApplyBlocks,
                  [&](auto zero, auto pack, const NormRows& rows, int64_t first) {
                    using S = decltype(zero);
                    using T = ComputeType<S>;
                    const int64_t offset = 2 * first * x.size(1);
                    launch(backward_kernel<S, pack>, grid_of(rows, pack), kNormThreads, 0, rows, dy.const_data_ptr<S>(),
                           x.const_data_ptr<S>(), dx.mutable_data_ptr<S>(), moments.const_data_ptr<double>() + offset,
                           means ? slopes.const_data_ptr<double>() + offset : nullptr, weight.const_data_ptr<T>(),
                           bias.const_data_ptr<T>(), eps, relu);
                  });
  return laid_out_like(dx, given);
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("norm_moments", norm_moments_cuda);
  m.impl("norm_act", norm_act_cuda);
  m.impl("norm_act_sums", norm_act_sums_cuda);
  m.impl("norm_act_backward", norm_act_backward_cuda);
}

}  // namespace tessera
