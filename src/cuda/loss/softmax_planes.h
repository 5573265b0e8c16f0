#pragma once
#include "cuda/loss/pixel_softmax.h"
#include "cuda/loss/thread_pixel.h"

// Logits of the labels' own size whose columns lie side by side, a thread a pixel: the traffic of softmax_tiles.h without its
// tiles.

namespace tessera {

// See pixel_sums; `values`: null, or (N, H, W).
template <class T, class S>
__global__ void __launch_bounds__(kPlaneThreads) plane_sums_kernel(const SoftmaxArguments<T> a, T* values) {
  const ThreadPixel p(a);
  if (p.image >= a.images) return;
  const S* const at = static_cast<const S*>(a.logits) + a.offset(p.image, p.y, p.x);
  const T value = pixel_sums(a, p.image, p.index, PlaneRow<T, const S>{at, a.strides.channel});
  if (values != nullptr) values[p.index] = value;
}

template <class T, class S, LossTask kTask>
__global__ void __launch_bounds__(kPlaneThreads)
    plane_gradient_kernel(const SoftmaxArguments<T> a, const double* grad_out, S* gradient, Strides to) {
  const ThreadPixel p(a);
  if (p.image >= a.images) return;
  const S* const at = static_cast<const S*>(a.logits) + a.offset(p.image, p.y, p.x);
  pixel_gradient<kTask>(a, p.image, p.index, grad_out, PlaneRow<T, const S>{at, a.strides.channel},
                        PlaneRow<T, S>{gradient + p.image * to.image + p.y * to.row + p.x * to.column, to.channel});
}

}  // namespace tessera
