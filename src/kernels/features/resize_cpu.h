#pragma once
#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>

namespace tessera {

// The CPU's implementations of the ops of resize_bilinear.h.
at::Tensor resize_bilinear_cpu(const at::Tensor& x, at::IntArrayRef size, bool align_corners);
// `size`: of the input, whose gradient it returns.
at::Tensor resize_bilinear_backward_cpu(const at::Tensor& grad_out, at::IntArrayRef size, bool align_corners);
at::Tensor resize_concat_cpu(at::TensorList xs, at::IntArrayRef size, bool align_corners);

// An uninitialised tensor for the channels of all: channels_last where one of them is. Defined here, so that the CUDA plug-in
// has it too.
inline at::Tensor empty_concat(at::TensorList xs, at::IntArrayRef size) {
  int64_t channels = 0;
  auto format = at::MemoryFormat::Contiguous;
  for (const at::Tensor& x : xs) {
    channels += x.size(1);
    if (x.suggest_memory_format() == at::MemoryFormat::ChannelsLast) format = at::MemoryFormat::ChannelsLast;
  }
  return at::empty({xs[0].size(0), channels, size[0], size[1]}, xs[0].options(), format);
}

}  // namespace tessera
