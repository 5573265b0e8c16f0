#pragma once
#include "cuda/loss/softmax_arguments.h"

namespace tessera {

// A warp for each pixel of logits of the labels' own size, classes dealt out over the lanes, wherever these lie.

template <class T>
struct PixelLogits {
  __device__ PixelLogits(const SoftmaxArguments<T>& a, int image, int y, int x) : a_(a), offset_(a.offset(image, y, x)) {}
  __device__ T operator[](int c) const { return a_.logit(offset_ + c * a_.strides.channel); }

 private:
  const SoftmaxArguments<T>& a_;
  int64_t offset_;
};

// Which pixel a warp works on; false past the last.
template <class T>
struct WarpPixel {
  __device__ explicit WarpPixel(const SoftmaxArguments<T>& a) {
    index = static_cast<int64_t>(blockIdx.x) * (blockDim.x / 32) + threadIdx.x / 32;
    x = static_cast<int>(index % a.columns.out);
    y = static_cast<int>(index / a.columns.out % a.rows.out);
    image = static_cast<int>(index / a.columns.out / a.rows.out);
  }
  int64_t index;
  int image, y, x;
};

// Fills log_sum and, with grad_sums, grad_dot; `values`, where not null, takes each pixel's cross entropy.
template <class T>
__global__ void pixel_sums_kernel(const SoftmaxArguments<T> a, T* values) {
  const WarpPixel<T> p(a);
  if (p.image >= a.images) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  PixelTargets<T> target;
  target.read(a, p.image, p.index);
  if (!target.counts()) {
    if (lane == 0) {
      a.log_sum[p.index] = 0;
      if (values != nullptr) values[p.index] = 0;
      if (a.grad_sums != nullptr) a.grad_dot[p.index] = 0;
    }
    return;
  }
  const PixelLogits<T> z(a, p.image, p.y, p.x);
  T most = kNoLogit<T>, spread = 0;
  for (int c = lane; c < a.classes; c += 32) {
    const T value = z[c];
    most = value > most || value != value ? value : most;
    if (a.smoothing > 0) spread += a.spread(c) * value;
  }
  most = warp_max(most);
  T sum = 0, dot = 0;
  for (int c = lane; c < a.classes; c += 32) {
    const T e = exp2_fast((z[c] - most) * kLog2E<T>);
    sum += e;
    if (a.grad_sums != nullptr) dot += a.grad_sums[a.classes + c] * e;
  }
  sum = warp_sum(sum);
  if (a.smoothing > 0) spread = warp_sum(spread);
  if (a.grad_sums != nullptr) dot = warp_sum(dot);
  if (lane != 0) return;
  const T log_sum = most + log(sum);
  a.log_sum[p.index] = log_sum;
  if (a.grad_sums != nullptr) {
    const int label = target.label[0];
    a.grad_dot[p.index] = dot / sum + a.grad_sums[label] * exp2_fast((z[label] - log_sum) * kLog2E<T>);
  }
  if (values == nullptr) return;
  T value = target.mass * log_sum - target.labelled * spread;
  for (int i = 0; i < 2; ++i) {
    if (target.label[i] >= 0) value -= target.weight[i] * z[target.label[i]];
  }
  values[p.index] = value;
}

// The gradient where logits have the labels' size, times grad_out; S: its type.
template <class T, class S, LossTask kTask>
__global__ void pixel_gradient_kernel(const SoftmaxArguments<T> a, const double* grad_out, S* gradient, Strides to) {
  const WarpPixel<T> p(a);
  if (p.image >= a.images) return;
  const int lane = static_cast<int>(threadIdx.x % 32);
  PixelTargets<T> target;
  target.read(a, p.image, p.index);
  S* const row = gradient + p.image * to.image + p.y * to.row + p.x * to.column;
  const PixelLogits<T> z(a, p.image, p.y, p.x);
  const T log_sum = a.log_sum[p.index];
  const T scale = kTask == LossTask::kCrossEntropy ? static_cast<T>(*grad_out) : T(1);
  const T shift = kTask == LossTask::kCrossEntropy ? T(0) : a.grad_dot[p.index];
  for (int c = lane; c < a.classes; c += 32) {
    T g = 0;
    if (target.counts()) {
      const T probability = exp2_fast((z[c] - log_sum) * kLog2E<T>);
      if (kTask == LossTask::kCrossEntropy) {
        g = target.mass * probability;
        for (int i = 0; i < 2; ++i) g -= target.label[i] == c ? target.weight[i] : T(0);
        if (a.smoothing > 0) g -= target.labelled * a.spread(c);
      } else {
        g = probability * (a.grad_sums[a.classes + c] - shift + (target.label[0] == c ? a.grad_sums[c] : T(0)));
      }
    }
    row[c * to.channel] = static_cast<S>(g * scale);
  }
}

}  // namespace tessera
