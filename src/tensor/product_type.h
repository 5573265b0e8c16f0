#pragma once
#include <ATen/autocast_mode.h>

namespace tessera {

// The type that convolutions and matrix products take x in. Autocast leaves float64 alone.
inline at::ScalarType product_type(const at::Tensor& x) {
  const c10::DeviceType device = x.device().type();
  const bool casts = at::autocast::is_autocast_enabled(device) && x.scalar_type() != at::kDouble;
  return casts ? at::autocast::get_autocast_dtype(device) : x.scalar_type();
}

}  // namespace tessera
