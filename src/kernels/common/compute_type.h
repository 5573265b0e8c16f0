#pragma once
#include <type_traits>

namespace tessera {

// The type that sums and quotients of values of type T are made in.
template <class T>
using Compute = std::conditional_t<std::is_same_v<T, double>, double, float>;

}  // namespace tessera
