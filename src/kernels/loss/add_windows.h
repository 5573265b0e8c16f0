#pragma once
#include <ATen/core/Tensor.h>

namespace tessera {

// Adds the weighted scores of windows to the sums of the images they were cut from, without the scores at the windows' size:
//   sum[images[b], :, :, lefts[b] .. lefts[b] + w) += weights * (logits[b] upsampled bilinearly to h x w)
// sum: (N, K, h, W), float32 or float64. logits: (B, K, any size), of any float type and layout. weights: (h, w), of the sums'
// type. Windows are added in their order, so it does not matter how they are dealt out over calls. No gradient.
void add_windows(const at::Tensor& sum, const at::Tensor& logits, at::IntArrayRef images, at::IntArrayRef lefts,
                 const at::Tensor& weights);

// The layout of `sum` that suits a device.
at::MemoryFormat window_sum_layout(const at::Tensor& logits);

}  // namespace tessera
