#pragma once
#include <ATen/core/Tensor.h>

#include <type_traits>

namespace tessera {

// Calls work(S{}) with a type that goes beside T: T itself, or beside float a half-length one.
template <class T, class Work>
void with_short_type(at::ScalarType type, const Work& work) {
  if (type == c10::CppTypeToScalarType<T>::value) return work(T{});
  const bool takes = std::is_same_v<T, float> && (type == at::kBFloat16 || type == at::kHalf);
  TORCH_CHECK(takes, "float32 goes with bfloat16 and float16, float64 with itself; got ", toString(type));
  if constexpr (std::is_same_v<T, float>) type == at::kHalf ? work(at::Half{}) : work(at::BFloat16{});
}

}  // namespace tessera
