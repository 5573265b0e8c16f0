#pragma once
#include <ATen/core/Tensor.h>

// Loops over channels_last features, compiled for float32, float64 and bfloat16.
namespace tessera {

// Whether the loops fit the tensor: its pixels have their channels side by side, enough of them to fill vectors.
inline bool can_use_feature_loops(const at::Tensor& x) {
  constexpr int64_t kFewestChannels = 4;
  const auto type = x.scalar_type();
  return x.stride(1) == 1 && x.size(1) >= kFewestChannels &&
         (type == at::kFloat || type == at::kDouble || type == at::kBFloat16);
}

// The tables of an operation, each with the function that chooses it (see simd_level.h).
template <class Float, class Double, class BFloat16>
struct FeatureLoops {
  const Float& (*of_float)();
  const Double& (*of_double)();
  const BFloat16& (*of_bfloat16)();

  // Calls call(table of the tensor's type).
  template <class Call>
  void with(const at::Tensor& x, Call&& call) const {
    if (x.scalar_type() == at::kFloat) return call(of_float());
    if (x.scalar_type() == at::kDouble) return call(of_double());
    call(of_bfloat16());
  }
};

}  // namespace tessera
