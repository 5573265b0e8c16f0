// Batch norm + ReLU + 2 x 2 maxima, see kernels/norm/norm_pool.h; the kernels of norm_act.cu by windows of pixels. With s the
// bytes of x they move
//   forward   apply: 2.4 s, which write y and the maxima
//   backward  sums: 2.4 s    grad_x: 3.4 s, both with the gradients of y and of the maxima
// where a pool of its own would read y once more, and write the sum of the gradients and read it twice.
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include <optional>
#include <tuple>

#include "cuda/common/pixel_rows.h"
#include "cuda/norm/norm_arguments.h"
#include "cuda/norm/norm_shapes.h"
#include "cuda/norm/norm_windows.h"

namespace tessera {
namespace {

// y: rows `pitch` numbers apart.
template <class S, int kPack>
__global__ void __launch_bounds__(kPoolApplyShape.threads, kPoolApplyShape.blocks)
    pool_apply_kernel(NormRows rows, WindowPlaces pixels, const S* x, S* y, int64_t pitch, S* pooled, uint8_t* positions,
                      NormNumbers<Compute<S>> numbers) {
  using T = Compute<S>;
  using Place = NormPlace<kPack, kPoolApplyShape>;
  const Place place(rows);
  OutputForm<T, kPack> form;
  typename Place::template Words<S> words[kWindowPixels] = {};
  for_each_window(
      place,
      [&](int window) {
        const int64_t first = pixels.first(window);
#pragma unroll
        for (int tap = 0; tap < kWindowPixels; ++tap)
          words[tap] = place.load(x + (first + pixels.after_first(tap)) * place.channels + place.channel);
      },
      [&] { form.prepare(place, rows, numbers); },
      [&](int window) {
        const int64_t first = pixels.first(window);
        Pack<S, kPack> most = {};
        Pack<uint8_t, kPack> taken = {};
#pragma unroll
        for (int tap = 0; tap < kWindowPixels; ++tap) {
          const auto in = std::bit_cast<Pack<S, kPack>>(words[tap]);
          Pack<S, kPack> out;
#pragma unroll
          for (int k = 0; k < kPack; ++k) {
            const T v = form.of(static_cast<T>(in.value[k]), k);
            out.value[k] = static_cast<S>(v < T(0) ? T(0) : v);  // a NaN stays
            const T rounded = static_cast<T>(out.value[k]);
            if (tap == 0 || rounded > static_cast<T>(most.value[k]) || rounded != rounded) {
              most.value[k] = out.value[k];
              taken.value[k] = static_cast<uint8_t>(tap);
            }
          }
          store_pack(y + (first + pixels.after_first(tap)) * pitch + place.channel, out);
        }
        store_pack(pooled + window * place.channels + place.channel, most);
        store_pack(positions + window * place.channels + place.channel, taken);
      });
}

template <class S, int kPack>
__global__ void __launch_bounds__(kPoolSumsShape.threads, kPoolSumsShape.blocks)
    pool_sums_kernel(NormRows rows, BlockSums sums, unsigned first_counter, WindowPlaces pixels, WindowGrads<S> grads,
                     const S* x, NormNumbers<Compute<S>> numbers, SumResults<Compute<S>> results) {
  using T = Compute<S>;
  const NormPlace<kPack, kPoolSumsShape> place(rows);
  T sum[kPack] = {}, dot[kPack] = {};
  OutputForm<T, kPack> form;
  WindowPacks<S, kPack, kPoolSumsShape> packs;
  for_each_window(
      place, [&](int window) { packs.load(place, pixels, x, grads, window); }, [&] { form.prepare(place, rows, numbers); },
      [&](int) {
        packs.for_each(
            [&](int k, T value, T grad) {
              if (form.of(value, k) <= T(0)) grad = T(0);
              sum[k] += grad;
              dot[k] += grad * (value - form.centre[k]);
            },
            [](int) {});
      });
  finish_sums(place, rows, kWindowPixels, numbers, sum, dot, sums, first_counter, results);
}

// means: null where the moments are constants.
template <class S, int kPack>
__global__ void __launch_bounds__(kPoolBackwardShape.threads, kPoolBackwardShape.blocks)
    pool_backward_kernel(NormRows rows, WindowPlaces pixels, WindowGrads<S> grads, const S* x, S* grad_x,
                         NormNumbers<Compute<S>> numbers, const double* means) {
  using T = Compute<S>;
  const NormPlace<kPack, kPoolBackwardShape> place(rows);
  InputGradForm<T, kPack> form;
  WindowPacks<S, kPack, kPoolBackwardShape> packs;
  for_each_window(
      place, [&](int window) { packs.load(place, pixels, x, grads, window); },
      [&] { form.prepare(place, rows, numbers, means); },
      [&](int window) {
        const int64_t first = pixels.first(window);
        Pack<S, kPack> out = {};
        packs.for_each(
            [&](int k, T value, T grad) { out.value[k] = static_cast<S>(form.template of<true>(grad, value, k)); },
            [&](int tap) { store_pack(grad_x + (first + pixels.after_first(tap)) * place.channels + place.channel, out); });
      });
}

NormRows window_rows(const at::Tensor& x, at::IntArrayRef ends, size_t first, int pack, int most_channels,
                     const NormShape& shape) {
  NormRows rows = norm_rows(x, ends, first, pack, most_channels, shape);
  rows.pixels /= kWindowPixels;
  return rows;
}
WindowPlaces windows_of(const at::Tensor& x) {
  return {static_cast<int>(x.size(3) / 2)};
}
// Aligned where the rows behind the first are.
const void* next_row(const at::Tensor& x) {
  return static_cast<const char*>(x.const_data_ptr()) + pitch_of(x) * x.element_size();
}

// The gradients in the order that the kernels want.
struct PoolGrads {
  PoolGrads(const at::Tensor& given_pooled, const at::Tensor& given_positions, const std::optional<at::Tensor>& given_beside)
      : pooled(in_rows(given_pooled)),
        positions(in_rows(given_positions)),
        beside(given_beside ? in_pitched_rows(*given_beside) : at::Tensor()) {}
  const void* beside_row() const { return beside.defined() ? next_row(beside) : nullptr; }
  const void* beside_data() const { return beside.defined() ? beside.const_data_ptr() : nullptr; }
  template <class S>
  WindowGrads<S> all() const {
    return {pooled.const_data_ptr<S>(), positions.const_data_ptr<uint8_t>(), static_cast<const S*>(beside_data()),
            beside.defined() ? pitch_of(beside) : 0};
  }
  at::Tensor pooled, positions, beside;
};

std::tuple<at::Tensor, at::Tensor> norm_pool_cuda(const at::Tensor& given, const at::Tensor& moments, const at::Tensor& weight,
                                                  const at::Tensor& bias, at::IntArrayRef ends, double eps, at::Tensor y) {
  const DeviceGuard guard(given.device());
  TORCH_CHECK(lies_in_rows(y), "expected channels_last memory for the result");
  const at::Tensor x = in_rows(given);
  const std::vector<int64_t> size = {x.size(0), x.size(1), x.size(2) / 2, x.size(3) / 2};
  const at::Tensor pooled = at::empty(size, x.options(), at::MemoryFormat::ChannelsLast);
  const at::Tensor positions = at::empty(size, x.options().dtype(at::kByte), at::MemoryFormat::ChannelsLast);
  for_each_launch(x, ends, {x.const_data_ptr(), y.const_data_ptr(), next_row(y)}, [&](auto zero, auto pack, size_t first) {
    using S = decltype(zero);
    using T = Compute<S>;
    constexpr NormShape kShape = kPoolApplyShape;
    const NormRows rows = window_rows(x, ends, first, pack, kMostChannels, kShape);
    launch_form<OutputForm<T, pack>>(pool_apply_kernel<S, pack>, rows, pack, kShape, windows_of(x), x.const_data_ptr<S>(),
                                     y.mutable_data_ptr<S>(), pitch_of(y), pooled.mutable_data_ptr<S>(),
                                     positions.mutable_data_ptr<uint8_t>(), numbers_of<T>(moments, weight, bias, eps, first));
  });
  return {pooled, positions};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor> norm_pool_sums_cuda(const at::Tensor& grad_pooled, const at::Tensor& positions,
                                                                   const std::optional<at::Tensor>& grad_y,
                                                                   const at::Tensor& given, const at::Tensor& moments,
                                                                   const at::Tensor& weight, const at::Tensor& bias,
                                                                   at::IntArrayRef ends, double eps) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given);
  const PoolGrads grads(grad_pooled, positions, grad_y);
  const at::Tensor means = at::empty_like(moments), grad_weight = at::empty_like(weight), grad_bias = at::empty_like(weight);
  for_each_launch(x, ends, {x.const_data_ptr(), grads.pooled.const_data_ptr(), grads.beside_data(), grads.beside_row()},
                  [&](auto zero, auto pack, size_t first) {
                    using S = decltype(zero);
                    using T = Compute<S>;
                    constexpr NormShape kShape = kPoolSumsShape;
                    const NormRows rows = window_rows(x, ends, first, pack, kSumChannels, kShape);
                    launch_sums<T>(pool_sums_kernel<S, pack>, rows, pack, kShape, x, windows_of(x), grads.all<S>(),
                                   x.const_data_ptr<S>(), numbers_of<T>(moments, weight, bias, eps, first),
                                   results_in<T>(means, grad_weight, grad_bias, first));
                  });
  return {means, grad_weight, grad_bias};
}

at::Tensor norm_pool_backward_cuda(const at::Tensor& grad_pooled, const at::Tensor& positions,
                                   const std::optional<at::Tensor>& grad_y, const at::Tensor& given, const at::Tensor& moments,
                                   const std::optional<at::Tensor>& means, const at::Tensor& weight, const at::Tensor& bias,
                                   at::IntArrayRef ends, double eps) {
  const DeviceGuard guard(given.device());
  const at::Tensor x = in_rows(given), grad_x = at::empty_like(x), group_means = means ? means->contiguous() : at::Tensor();
  const PoolGrads grads(grad_pooled, positions, grad_y);
  for_each_launch(x, ends, {x.const_data_ptr(), grads.pooled.const_data_ptr(), grads.beside_data(), grads.beside_row()},
                  [&](auto zero, auto pack, size_t first) {
                    using S = decltype(zero);
                    using T = Compute<S>;
                    constexpr NormShape kShape = kPoolBackwardShape;
                    const NormRows rows = window_rows(x, ends, first, pack, kMostChannels, kShape);
                    launch_form<InputGradForm<T, pack>>(pool_backward_kernel<S, pack>, rows, pack, kShape, windows_of(x),
                                                        grads.all<S>(), x.const_data_ptr<S>(), grad_x.mutable_data_ptr<S>(),
                                                        numbers_of<T>(moments, weight, bias, eps, first),
                                                        pairs_of(group_means, first));
                  });
  return grad_x;
}

}  // namespace

TSR_CUDA_OPS(m) {
  m.impl("norm_pool", norm_pool_cuda);
  m.impl("norm_pool_sums", norm_pool_sums_cuda);
  m.impl("norm_pool_backward", norm_pool_backward_cuda);
}

}  // namespace tessera
