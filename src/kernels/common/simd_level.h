#pragma once
#include <type_traits>

// Tables of inner loops that are compiled once per instruction set (see CMakeLists.txt) and chosen at run time.

namespace tessera {

// 0: what every processor of this kind has, 1: AVX2, 2: AVX-512. Follows ATEN_CPU_CAPABILITY, as libtorch's own kernels do.
int simd_level();

}  // namespace tessera

// Defines `const Table& function()`: the best of baseline::name, avx2::name and avx512::name for this processor.
#ifdef __x86_64__
#define TSR_CHOOSE_LOOPS(Table, name, function)                                         \
  namespace baseline {                                                                  \
  extern const Table name;                                                              \
  }                                                                                     \
  namespace avx2 {                                                                      \
  extern const Table name;                                                              \
  }                                                                                     \
  namespace avx512 {                                                                    \
  extern const Table name;                                                              \
  }                                                                                     \
  static const Table& function() {                                                      \
    static const Table* const tables[] = {&baseline::name, &avx2::name, &avx512::name}; \
    return *tables[simd_level()];                                                       \
  }
#else
#define TSR_CHOOSE_LOOPS(Table, name, function) \
  namespace baseline {                          \
  extern const Table name;                      \
  }                                             \
  static const Table& function() {              \
    return baseline::name;                      \
  }
#endif

// Defines `const Loops<T>& function<T>()` for float and double, of the tables nameFloat and nameDouble.
#define TSR_CHOOSE_LOOPS_FOR(Loops, name, function)                \
  TSR_CHOOSE_LOOPS(Loops<float>, name##Float, function##_float)    \
  TSR_CHOOSE_LOOPS(Loops<double>, name##Double, function##_double) \
  template <class T>                                               \
  const Loops<T>& function() {                                     \
    if constexpr (std::is_same_v<T, float>) {                      \
      return function##_float();                                   \
    } else {                                                       \
      return function##_double();                                  \
    }                                                              \
  }                                                                \
  template const Loops<float>& function<float>();                  \
  template const Loops<double>& function<double>();
