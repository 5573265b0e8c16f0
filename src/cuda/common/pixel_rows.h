#pragma once
#include <ATen/core/Tensor.h>

#include "cuda/common/launch.h"

namespace tessera {

// A tensor (N, C, H, W) as rows of channels, one for each pixel, that lie `pitch` numbers apart: channels_last, or a slice of
// its channels.
inline bool lies_in_rows(const at::Tensor& x) {
  const int64_t pitch = x.stride(3);
  return x.stride(1) == 1 && pitch >= x.size(1) && x.stride(2) == pitch * x.size(3) && x.stride(0) == x.stride(2) * x.size(2);
}
inline at::Tensor in_pitched_rows(const at::Tensor& x) {
  return lies_in_rows(x) ? x : x.contiguous(at::MemoryFormat::ChannelsLast);
}
// The pitch of a tensor that lies in rows; with one column stride(3) may say anything.
inline int64_t pitch_of(const at::Tensor& x) {
  return x.stride(3);
}

}  // namespace tessera
