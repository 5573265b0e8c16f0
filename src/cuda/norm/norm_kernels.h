#pragma once
// The kernels of norm_act.cu.
#include "cuda/norm/norm_ends.h"
#include "cuda/norm/norm_forms.h"
#include "cuda/norm/norm_shapes.h"

namespace tessera {
namespace {

template <class S, int kPack>
__global__ void __launch_bounds__(kMomentsShape.threads, kMomentsShape.blocks)
    moments_kernel(NormRows rows, BlockSums sums, unsigned first_counter, const S* x, double* moments, Compute<S>* running_mean,
                   Compute<S>* running_var, double momentum) {
  using T = Compute<S>;
  constexpr NormShape kShape = kMomentsShape;
  const NormPlace<kPack, kShape> place(rows);
  // Relative to the block's first row: then sums of squares cannot cancel by more than its number of rows.
  T origin[kPack] = {}, sum[kPack] = {}, squares[kPack] = {};
  T* const origins = shared_memory<T>() + 2 * (kShape.threads / 32) * rows.columns() * kPack;
  const S* const inputs[] = {x};
  place.for_each_row(
      inputs,
      [&] {
        if (place.tiles == 0 || place.channel >= rows.channels) return;
        const Pack<S, kPack> first = load_pack<kPack>(x + place.first_offset());
        for (int k = 0; k < kPack; ++k) origin[k] = static_cast<T>(first.value[k]);
        for (int k = 0; k < kPack && place.row_lane == 0; ++k) origins[place.column * kPack + k] = origin[k];
      },
      [&](int64_t, const Pack<S, kPack>* in) {
#pragma unroll
        for (int k = 0; k < kPack; ++k) {
          const T d = static_cast<T>(in[0].value[k]) - origin[k];
          sum[k] += d;
          squares[k] += d * d;
        }
      });
  const auto count = static_cast<double>(ChunkRows(rows, place.group).of(static_cast<int>(blockIdx.y)));
  SumPair* const to = sums.of(rows, place.group, static_cast<int>(blockIdx.y)) + place.first_channel;
  add_up_rows(place, rows, sum, squares, [&](int i, T first, T second) {
    const double total = static_cast<double>(first), deviations = static_cast<double>(second) - total * total / count;
    to[i] = {static_cast<double>(origins[i]) + total / count, deviations < 0 ? 0 : deviations};  // a NaN stays
  });
  if (!ends_group(first_counter)) return;

  // The group's mean and variance from those of its blocks, relative to any of these: in float64 it is near enough.
  const LastBlock<kPack, kShape> last(place, rows);
  const int64_t c = last.channel;
  const double centre = c < rows.channels ? sums.of(rows, place.group, 0)[c].first : 0;
  const SumPair found = last.over_chunks(rows, place.group, sums, [&](int chunk_rows, const SumPair& pair) {
    const double d = pair.first - centre;
    return SumPair{chunk_rows * d, pair.second + chunk_rows * d * d};
  });
  if (last.ends_channel) {
    const double all = rows.count(place.group), d = found.first / all, spread = found.second / all - d * d;
    moments[2 * place.group * rows.channels + c] = centre + d;
    moments[(2 * place.group + 1) * rows.channels + c] = spread < 0 ? 0 : spread;
  }
  // One update of the running averages per group, in order.
  if (running_mean == nullptr || !ends_stretch(first_counter) || !last.ends_channel) return;
  double mean = static_cast<double>(running_mean[c]), var = static_cast<double>(running_var[c]);
  for (int g = 0; g < rows.groups; ++g) {
    const double all = rows.count(g);
    mean = (1 - momentum) * mean + momentum * moments[2 * g * rows.channels + c];
    var = (1 - momentum) * var + momentum * (all / (all - 1)) * moments[(2 * g + 1) * rows.channels + c];
    mean = static_cast<double>(static_cast<T>(mean));
    var = static_cast<double>(static_cast<T>(var));
  }
  running_mean[c] = static_cast<T>(mean);
  running_var[c] = static_cast<T>(var);
}

template <class S, int kPack, bool kResidual, bool kRelu>
__global__ void __launch_bounds__(apply_shape(kResidual).threads, apply_shape(kResidual).blocks)
    apply_kernel(NormRows rows, const S* x, const S* residual, S* y, NormNumbers<Compute<S>> numbers) {
  using T = Compute<S>;
  constexpr NormShape kShape = apply_shape(kResidual);
  const NormPlace<kPack, kShape> place(rows);
  OutputForm<T, kPack> form;
  const auto prepare = [&] { form.prepare(place, rows, numbers); };
  const auto use = [&](int64_t offset, const Pack<S, kPack>* in) {
    Pack<S, kPack> out;
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      T v = form.of(static_cast<T>(in[0].value[k]), k);
      if constexpr (kResidual) v += static_cast<T>(in[1].value[k]);
      out.value[k] = static_cast<S>(kRelu && v < T(0) ? T(0) : v);  // a NaN stays
    }
    store_pack(y + offset, out);
  };
  if constexpr (kResidual) {
    const S* const inputs[] = {x, residual};
    place.for_each_row(inputs, prepare, use);
  } else {
    const S* const inputs[] = {x};
    place.for_each_row(inputs, prepare, use);
  }
}

// How it is known where ReLU cut.
enum class Gate {
  kNone,    // there was none
  kForm,    // from x
  kOutput,  // from the result
};

// Sums of g and g * (x - centre), where g is grad_out with 0 where ReLU cut. With Gate::kOutput `gated` gets g; else y and it
// are null.
template <class S, int kPack, Gate kGate>
__global__ void __launch_bounds__(kSumsShape.threads, kSumsShape.blocks)
    sums_kernel(NormRows rows, BlockSums sums, unsigned first_counter, const S* grad_out, const S* x, const S* y, S* gated,
                NormNumbers<Compute<S>> numbers, SumResults<Compute<S>> results) {
  using T = Compute<S>;
  constexpr NormShape kShape = kSumsShape;
  const NormPlace<kPack, kShape> place(rows);
  T sum[kPack] = {}, dot[kPack] = {};
  OutputForm<T, kPack> form;
  const auto prepare = [&] { form.prepare(place, rows, numbers); };
  const auto use = [&](int64_t offset, const Pack<S, kPack>* in) {
    Pack<S, kPack> out = in[0];
#pragma unroll
    for (int k = 0; k < kPack; ++k) {
      const T value = static_cast<T>(in[1].value[k]);
      if constexpr (kGate == Gate::kOutput) {
        if (static_cast<T>(in[2].value[k]) <= T(0)) out.value[k] = S(0);
      } else if constexpr (kGate == Gate::kForm) {
        if (form.of(value, k) <= T(0)) out.value[k] = S(0);
      }
      const T g = static_cast<T>(out.value[k]);
      sum[k] += g;
      dot[k] += g * (value - form.centre[k]);
    }
    if constexpr (kGate == Gate::kOutput) store_pack(gated + offset, out);
  };
  if constexpr (kGate == Gate::kOutput) {
    const S* const inputs[] = {grad_out, x, y};
    place.for_each_row(inputs, prepare, use);
  } else {
    const S* const inputs[] = {grad_out, x};
    place.for_each_row(inputs, prepare, use);
  }
  finish_sums(place, rows, /*row_pixels=*/1, numbers, sum, dot, sums, first_counter, results);
}

// means: null where the moments are constants.
template <class S, int kPack, bool kRelu>
__global__ void __launch_bounds__(kBackwardShape.threads, kBackwardShape.blocks)
    backward_kernel(NormRows rows, const S* grad_out, const S* x, S* grad_x, NormNumbers<Compute<S>> numbers,
                    const double* means) {
  using T = Compute<S>;
  constexpr NormShape kShape = kBackwardShape;
  const NormPlace<kPack, kShape> place(rows);
  InputGradForm<T, kPack> form;
  const S* const inputs[] = {grad_out, x};
  place.for_each_row(
      inputs, [&] { form.prepare(place, rows, numbers, means); },
      [&](int64_t offset, const Pack<S, kPack>* in) {
        Pack<S, kPack> out;
#pragma unroll
        for (int k = 0; k < kPack; ++k) {
          out.value[k] =
              static_cast<S>(form.template of<kRelu>(static_cast<T>(in[0].value[k]), static_cast<T>(in[1].value[k]), k));
        }
        store_pack(grad_x + offset, out);
      });
}

}  // namespace
}  // namespace tessera
