#pragma once
#include "cuda/loss/class_rows.h"
#include "cuda/loss/softmax_arguments.h"

// The softmax of one pixel by one thread, the logits wherever a row (class_rows.h) finds them.

namespace tessera {

// Sums of exponentials, each group's largest logit found as it comes: one walk along the row.
template <class T>
struct OnlineSoftmax {
  T bound = kNoLogit<T>;  // the largest logit so far, in powers of 2
  T sum[2] = {0, 0};      // of 2^(logit - bound): even classes, odd ones
  T dot = 0;              // of gradient * exponential
  T spread = 0;           // of logits, as label smoothing weighs them

  template <int kCount, bool kWhole>
  __device__ __forceinline__ void add(const SoftmaxArguments<T>& a, ClassGroup<kCount, kWhole> group, const T (&z)[kCount]) {
    T most = z[0];
#pragma unroll
    for (int j = 1; j < kCount; ++j) most = fmax(most, z[j]);  // skips what is not a number, which the sum then is
    const T next = fmax(bound, most * kLog2E<T>), shrink = exp2_fast(bound - next);
    bound = next;
    sum[0] *= shrink;
    sum[1] *= shrink;
    dot *= shrink;
#pragma unroll
    for (int j = 0; j < kCount; ++j) {
      const T e = exp2_fast(z[j] * kLog2E<T> - bound);
      sum[j % 2] += e;
      if (a.grad_sums != nullptr && group.has(j)) dot += a.grad_sums[a.classes + group.begin + j] * e;
    }
    if (a.smoothing > 0) {
#pragma unroll
      for (int j = 0; j < kCount; ++j) {
        if (group.has(j)) spread += a.spread(group.begin + j) * z[j];
      }
    }
  }
  __device__ T total() const {
    return sum[0] + sum[1];
  }
  __device__ T log_sum() const {
    return kLn2<T> * (bound + log2(total()));
  }
};

template <class T, class Row>
__device__ __forceinline__ OnlineSoftmax<T> sum_classes(const SoftmaxArguments<T>& a, const Row& row) {
  OnlineSoftmax<T> softmax;
  each_class_group(a.classes, [&](auto group) {
    T z[group.kCount];
    row.load(group, static_cast<T>(-INFINITY), z);
    softmax.add(a, group, z);
  });
  return softmax;
}

template <class T>
__device__ __forceinline__ T probability(T logit, T log_sum) {
  return exp2_fast((logit - log_sum) * kLog2E<T>);
}

// Fills log_sum and, with grad_sums, grad_dot; returns the pixel's cross entropy.
template <class T, class Row>
__device__ __forceinline__ T pixel_sums(const SoftmaxArguments<T>& a, int image, int64_t pixel, const Row& row) {
  PixelTargets<T> target;
  target.read(a, image, pixel);
  T log_sum = 0, grad_dot = 0, value = 0;
  if (target.counts()) {
    const OnlineSoftmax<T> softmax = sum_classes(a, row);
    log_sum = softmax.log_sum();
    if (a.grad_sums != nullptr) {
      const int label = target.label[0];
      grad_dot = softmax.dot / softmax.total() + a.grad_sums[label] * probability(row[label], log_sum);
    }
    value = target.mass * log_sum - target.labelled * softmax.spread;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (target.label[i] >= 0) value -= target.weight[i] * row[target.label[i]];
    }
  }
  a.log_sum[pixel] = log_sum;
  if (a.grad_sums != nullptr) a.grad_dot[pixel] = grad_dot;
  return value;
}

// The gradient of the logits: of the cross entropy times grad_out, or where that is null of the sums. `to` may be `from`.
template <LossTask kTask, class T, class From, class To>
__device__ __forceinline__ void pixel_gradient(const SoftmaxArguments<T>& a, int image, int64_t pixel, const double* grad_out,
                                               const From& from, const To& to) {
  PixelTargets<T> target;
  target.read(a, image, pixel);
  if (!target.counts()) {
    each_class_group(a.classes, [&](auto group) {
      const T zeros[group.kCount] = {};
      to.store(group, zeros);
    });
    return;
  }
  const T scale = kTask == LossTask::kCrossEntropy ? static_cast<T>(*grad_out) : T(1);
  const T shift = kTask == LossTask::kCrossEntropy ? T(0) : a.grad_dot[pixel];
  const T bound = a.log_sum[pixel] * kLog2E<T>, mass = target.mass * scale, labelled = target.labelled * scale;
  const auto gradient = [&](int c, T z) {  // but for what the label adds
    const T p = exp2_fast(z * kLog2E<T> - bound);
    if (kTask == LossTask::kSumsGradient) return p * (a.grad_sums[a.classes + c] - shift);
    return a.smoothing > 0 ? mass * p - labelled * a.spread(c) : mass * p;
  };
  T at_label[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const int label = target.label[i], other = target.label[1 - i];
    if (label < 0) continue;
    const T z = from[label];
    if (kTask == LossTask::kSumsGradient) {
      at_label[i] = gradient(label, z) + exp2_fast(z * kLog2E<T> - bound) * a.grad_sums[label];
    } else {
      at_label[i] = gradient(label, z) - scale * (target.weight[i] + (label == other ? target.weight[1 - i] : T(0)));
    }
  }
  each_class_group(a.classes, [&](auto group) {
    T z[group.kCount];
    from.load(group, T(0), z);
#pragma unroll
    for (int j = 0; j < group.kCount; ++j) {
      if (group.has(j)) z[j] = gradient(group.begin + j, z[j]);
    }
    to.store(group, z);
  });
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    if (target.label[i] >= 0) to.set(target.label[i], at_label[i]);
  }
}

}  // namespace tessera
