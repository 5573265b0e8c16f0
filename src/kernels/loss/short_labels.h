#pragma once
#include <ATen/core/Tensor.h>
#include <c10/core/ScalarType.h>

#include <cstdint>

namespace tessera {

// Integer labels as the kernels read them, contiguous int16. A label beyond int16 becomes the nearest number there: cut down to
// its lower bits it might be a class, so it could pass for a good one. There are up to INT16_MAX classes, so that neither end
// is one.
inline at::Tensor short_labels(const at::Tensor& labels) {
  const at::ScalarType type = labels.scalar_type();
  const bool fits = type == at::kShort || type == at::kByte || type == at::kChar;
  return (fits ? labels : labels.to(at::kLong).clamp(INT16_MIN, INT16_MAX)).to(at::kShort).contiguous();
}

}  // namespace tessera
