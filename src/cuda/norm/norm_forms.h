#pragma once
// The numbers that the kernels of norm_act.cu multiply by and add per channel. A thread of each channel makes them out of the
// moments; the block's other threads get them through shared memory.
#include <algorithm>

#include "core/host_device.h"
#include "cuda/norm/norm_rows.h"

namespace tessera {

// A group's mean and deviation of a channel, see Note [Split mean].
template <class T>
struct ChannelSplit {
  __device__ ChannelSplit(const double* moments, int64_t channels, int group, int64_t c, double eps) {
    const double mean = moments[2 * group * channels + c];
    centre = static_cast<T>(mean);
    rest = static_cast<T>(mean - static_cast<double>(centre));
    inverse = T(1) / sqrt(static_cast<T>(moments[(2 * group + 1) * channels + c] + eps));
  }
  T centre, rest, inverse;
};

// Arguments of all kernels that know the moments.
template <class T>
struct NormNumbers {
  const double* moments;
  const T *weight, *bias;
  double eps;
};

// Values of the thread's channels out of a list of those of the block's.
template <int kPack, class T>
__device__ __forceinline__ void read_channels(const T* from, T (&to)[kPack]) {
  constexpr int kWide = std::min(kPack, static_cast<int>(16 / sizeof(T)));
#pragma unroll
  for (int k = 0; k < kPack; k += kWide) {
    const auto some = load_pack<kWide>(from + k);
#pragma unroll
    for (int i = 0; i < kWide; ++i) to[k + i] = some.value[i];
  }
}

// The thread's channels before residual and ReLU. One struct for all kernels: backward must find the same signs.
template <class T, int kPack>
struct OutputForm {
  using Number = T;
  static constexpr int kLists = 3;

  // All threads of the block call it, with kLists numbers of shared memory per channel of a stretch. of_channel(channel, place
  // in the stretch, split, scale) may make more.
  template <NormShape kShape, class OfChannel>
  __device__ void prepare(const NormPlace<kPack, kShape>& place, const NormRows& rows, const NormNumbers<T>& numbers,
                          OfChannel&& of_channel) {
    const int stretch = rows.columns() * kPack;
    T* const lists = shared_memory<T>();
    for (int i = static_cast<int>(threadIdx.x); i < stretch; i += kShape.threads) {
      const int64_t c = place.first_channel + i;
      if (c >= rows.channels) break;
      const ChannelSplit<T> split(numbers.moments, rows.channels, place.group, c, numbers.eps);
      const T scale_of = numbers.weight[c] * split.inverse;
      lists[i] = split.centre;
      lists[stretch + i] = scale_of;
      lists[2 * stretch + i] = numbers.bias[c] - split.rest * scale_of;
      of_channel(c, i, split, scale_of);
    }
    __syncthreads();
    const T* const own = lists + place.column * kPack;
    read_channels(own, centre);
    read_channels(own + stretch, scale);
    read_channels(own + 2 * stretch, shift);
  }
  template <NormShape kShape>
  __device__ void prepare(const NormPlace<kPack, kShape>& place, const NormRows& rows, const NormNumbers<T>& numbers) {
    prepare(place, rows, numbers, [](int64_t, int, const ChannelSplit<T>&, T) {});
  }
  __device__ __forceinline__ T of(T x, int k) const { return fma(x - centre[k], scale[k], shift[k]); }

  T centre[kPack], scale[kPack], shift[kPack];
};

// The gradient of x: it follows from that of the result, and from x itself through the moments.
template <class T, int kPack>
struct InputGradForm {
  using Number = T;
  static constexpr int kLists = OutputForm<T, kPack>::kLists + 2;

  // See OutputForm::prepare. means: null where the moments are constants.
  template <NormShape kShape>
  __device__ void prepare(const NormPlace<kPack, kShape>& place, const NormRows& rows, const NormNumbers<T>& numbers,
                          const double* means) {
    const int stretch = rows.columns() * kPack;
    T* const more = shared_memory<T>() + OutputForm<T, kPack>::kLists * stretch;
    output.prepare(place, rows, numbers, [&](int64_t c, int i, const ChannelSplit<T>& split, T scale) {
      const double* const pair = means + 2 * place.group * rows.channels + c;
      const T x_factor = means == nullptr ? T(0) : -scale * split.inverse * static_cast<T>(pair[rows.channels]);
      more[i] = x_factor;
      more[stretch + i] = means == nullptr ? T(0) : -scale * static_cast<T>(pair[0]) - split.rest * x_factor;
    });
    read_channels(more + place.column * kPack, of_x);
    read_channels(more + stretch + place.column * kPack, constant);
  }
  // kRelu: the result was cut below 0.
  template <bool kRelu>
  __device__ __forceinline__ T of(T grad_out, T x, int k) const {
    const T g = kRelu && output.of(x, k) <= T(0) ? T(0) : grad_out;
    return output.scale[k] * g + (of_x[k] * (x - output.centre[k]) + constant[k]);
  }

  OutputForm<T, kPack> output;
  T of_x[kPack], constant[kPack];
};

}  // namespace tessera
