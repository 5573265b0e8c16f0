#pragma once
#include <ATen/core/Tensor.h>

#include "kernels/common/simd_level.h"

// Loops over channels_last features, compiled for float32, float64 and bfloat16.
namespace tessera {

// Whether the loops fit the tensor: its pixels have their channels side by side, enough of them to fill vectors.
inline bool can_use_feature_loops(const at::Tensor& x) {
  constexpr int64_t kFewestChannels = 4;
  const auto type = x.scalar_type();
  return x.stride(1) == 1 && x.size(1) >= kFewestChannels &&
         (type == at::kFloat || type == at::kDouble || type == at::kBFloat16);
}

}  // namespace tessera

// Defines `with_loops(x, call)`, which calls call(table of the tensor's type): of the tables nameFloat, nameDouble and
// nameBFloat16, chosen as in simd_level.h. A table is a Loops<S> of the stored type S; uint16_t holds the bits of a bfloat16.
#define TSR_CHOOSE_FEATURE_LOOPS(Loops, name, with_loops)                   \
  TSR_CHOOSE_LOOPS(Loops<float>, name##Float, with_loops##_float)           \
  TSR_CHOOSE_LOOPS(Loops<double>, name##Double, with_loops##_double)        \
  TSR_CHOOSE_LOOPS(Loops<uint16_t>, name##BFloat16, with_loops##_bfloat16)  \
  template <class Call>                                                     \
  static void with_loops(const at::Tensor& x, Call&& call) {                \
    if (x.scalar_type() == at::kFloat) return call(with_loops##_float());   \
    if (x.scalar_type() == at::kDouble) return call(with_loops##_double()); \
    call(with_loops##_bfloat16());                                          \
  }
