#pragma once
#include <cstdint>
#include <cstring>
#include <utility>

// Vectors of L numbers with the arithmetic that a softmax needs, as the compiler's vector extensions: a source that is compiled
// once per instruction set gets each set's own code. Everything lies in a namespace of that set, so that the linker cannot put
// one set's copy of an inline function in the place of another's.
#ifndef TSR_SIMD
#define TSR_SIMD baseline
#endif
#define TSR_INLINE inline __attribute__((always_inline))

namespace tessera::TSR_SIMD {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
inline constexpr int kVectorBytes = 32;
#else
inline constexpr int kVectorBytes = 16;
#endif

// 1 / k!
template <class T>
constexpr T inverse_factorial(int k) {
  return k == 0 ? T(1) : inverse_factorial<T>(k - 1) / static_cast<T>(k);
}

template <class T>
struct Bits;  // the integers of T's width, and T's layout
template <>
struct Bits<float> {
  using Int = int32_t;
  static constexpr int kMantissa = 23, kBias = 127;
  static constexpr int kExpTerms = 7,
                       kLogTerms = 5;  // of the series below: the next term is under half a unit in the last place
  static constexpr float kSmallestExponent = -80, kRound = 12582912.0F;  // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float kLn2High = 0.693359375F, kLn2Low = -2.12194440e-4F;
};
template <>
struct Bits<double> {
  using Int = int64_t;
  static constexpr int kMantissa = 52, kBias = 1023;
  static constexpr int kExpTerms = 13, kLogTerms = 11;
  static constexpr double kSmallestExponent = -690, kRound = 6755399441055744.0;  // 1.5 * 2^52
  static constexpr double kLn2High = 6.93147180369123816490e-01, kLn2Low = 1.90821492927058770002e-10;
};

template <class T, int L>
struct Vec {
  typedef T Type __attribute__((vector_size(L * sizeof(T))));
  typedef typename Bits<T>::Int Mask __attribute__((vector_size(L * sizeof(T))));
};
template <class T, int L>
using V = typename Vec<T, L>::Type;

template <class T, int L>
TSR_INLINE V<T, L> load(const T* from) {
  V<T, L> v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T, int L>
TSR_INLINE void store(T* to, V<T, L> v) {
  std::memcpy(to, &v, sizeof v);
}

// The larger of each pair; a NaN in `b` stays out, and comes back in the exponential of what it is subtracted from.
template <class Vector>
TSR_INLINE Vector larger(Vector a, Vector b) {
  return b > a ? b : a;
}

template <class T, int L, size_t... I>
TSR_INLINE V<T, L / 2> lower_half(V<T, L> v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, I...);
}
template <class T, int L, size_t... I>
TSR_INLINE V<T, L / 2> upper_half(V<T, L> v, std::index_sequence<I...>) {
  return __builtin_shufflevector(v, v, (I + L / 2)...);
}

template <class T, int L>
TSR_INLINE T sum_lanes(V<T, L> v) {
  if constexpr (L == 2) {
    return v[0] + v[1];
  } else {
    using Half = std::make_index_sequence<L / 2>;
    return sum_lanes<T, L / 2>(lower_half<T, L>(v, Half{}) + upper_half<T, L>(v, Half{}));
  }
}
template <class T, int L>
TSR_INLINE T largest_lane(V<T, L> v) {
  if constexpr (L == 2) {
    return v[0] > v[1] ? v[0] : v[1];
  } else {
    using Half = std::make_index_sequence<L / 2>;
    return largest_lane<T, L / 2>(larger(lower_half<T, L>(v, Half{}), upper_half<T, L>(v, Half{})));
  }
}

// e^x for x <= 0, to about one unit in the last place: x = n ln 2 + r, the series of e^r, times 2^n. 0 below the smallest
// exponent, which leaves room for products: numbers too small for the normal format are slow. NaN gives NaN.
template <class T, int L>
TSR_INLINE V<T, L> exp_negative(V<T, L> x) {
  using B = Bits<T>;
  using Mask = typename Vec<T, L>::Mask;
  const V<T, L> shifted = x * static_cast<T>(1.44269504088896340736) + B::kRound;
  const V<T, L> n = shifted - B::kRound;
  const V<T, L> r = (x - n * B::kLn2High) - n * B::kLn2Low;
  V<T, L> sum = V<T, L>{} + inverse_factorial<T>(B::kExpTerms);
#pragma GCC unroll 16
  for (int k = B::kExpTerms - 1; k >= 0; --k) sum = sum * r + inverse_factorial<T>(k);
  // The low bits of `shifted` are n; moved into the exponent they are 2^n.
  const Mask power = (reinterpret_cast<Mask>(shifted) + B::kBias) << B::kMantissa;
  return x < B::kSmallestExponent ? V<T, L>{} : sum * reinterpret_cast<V<T, L>>(power);
}

// ln x for normal x > 0: x = 2^n m with m around 1, ln m = 2 artanh((m - 1) / (m + 1)) by its series. NaN gives NaN.
template <class T, int L>
TSR_INLINE V<T, L> log_positive(V<T, L> x) {
  using B = Bits<T>;
  using Mask = typename Vec<T, L>::Mask;
  const Mask bits = reinterpret_cast<Mask>(x);
  // Exponents count from sqrt(1/2), so that m is in [sqrt(1/2), sqrt(2)).
  const T low = static_cast<T>(0.70710678118654752440);
  typename B::Int low_bits;
  std::memcpy(&low_bits, &low, sizeof low);
  const Mask n = (bits - low_bits) >> B::kMantissa;
  const V<T, L> m = reinterpret_cast<V<T, L>>(bits - (n << B::kMantissa));
  const V<T, L> s = (m - T(1)) / (m + T(1));
  const V<T, L> square = s * s;
  V<T, L> sum = V<T, L>{} + T(1) / static_cast<T>(2 * B::kLogTerms + 1);
#pragma GCC unroll 16
  for (int k = B::kLogTerms - 1; k >= 0; --k) sum = sum * square + T(1) / static_cast<T>(2 * k + 1);
  const V<T, L> exponent = __builtin_convertvector(n, V<T, L>);
  const V<T, L> result = exponent * B::kLn2High + (exponent * B::kLn2Low + T(2) * s * sum);
  return x == x ? result : x;
}

}  // namespace tessera::TSR_SIMD
