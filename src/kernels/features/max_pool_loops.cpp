// Compiled once per instruction set, see CMakeLists.txt: TSR_SIMD names the set.
#include "kernels/features/max_pool_loops.h"

#include "kernels/common/stored_number.h"

namespace tessera::TSR_SIMD {
namespace {

constexpr int64_t kBlock = 64;  // channels worked on together: what is between stays in registers or the first cache

template <class S>
void forward(const WindowPixels<S>& window, int64_t channels, S* out, uint8_t* position) {
  using T = Compute<S>;
  using Int = typename Bits<T>::Int;
  for (int64_t first = 0; first < channels; first += kBlock) {
    const int64_t n = channels - first < kBlock ? channels - first : kBlock;
    T most[kBlock];
    Int tap[kBlock];
    const S* row = window.from + first;
    for (int64_t c = 0; c < n; ++c) most[c] = widen(row[c]);
    for (int64_t c = 0; c < n; ++c) tap[c] = static_cast<Int>(window.first_tap);
    for (int64_t y = 0; y < window.rows; ++y, row += window.stride_y) {
      for (int64_t x = y == 0 ? 1 : 0; x < window.columns; ++x) {
        const S* __restrict const from = row + x * window.stride_x;
        const Int number = static_cast<Int>(window.first_tap + y * window.kernel + x);
        for (int64_t c = 0; c < n; ++c) {
          const T value = widen(from[c]);
          const bool larger = (value > most[c]) | (value != value);
          most[c] = larger ? value : most[c];
          tap[c] = larger ? number : tap[c];
        }
      }
    }
    for (int64_t c = 0; c < n; ++c) out[first + c] = narrow<S>(most[c]);
    if (position == nullptr) continue;
    for (int64_t c = 0; c < n; ++c) position[first + c] = static_cast<uint8_t>(tap[c]);
  }
}

template <class S>
void backward(const WindowPixels<S>& windows, const uint8_t* position, int64_t stride, int64_t channels, S* out) {
  using T = Compute<S>;
  using Int = typename Bits<T>::Int;
  for (int64_t first = 0; first < channels; first += kBlock) {
    const int64_t n = channels - first < kBlock ? channels - first : kBlock;
    T sum[kBlock];
    for (int64_t c = 0; c < n; ++c) sum[c] = T(0);
    for (int64_t y = 0; y < windows.rows; ++y) {
      for (int64_t x = 0; x < windows.columns; ++x) {
        const int64_t offset = y * windows.stride_y + x * windows.stride_x + first;
        const S* __restrict const from = windows.from + offset;
        const uint8_t* __restrict const at = position + offset;
        const Int tap = static_cast<Int>(windows.first_tap - stride * (y * windows.kernel + x));
        for (int64_t c = 0; c < n; ++c) sum[c] += static_cast<Int>(at[c]) == tap ? widen(from[c]) : T(0);
      }
    }
    for (int64_t c = 0; c < n; ++c) out[first + c] = narrow<S>(sum[c]);
  }
}

}  // namespace

extern const MaxPoolLoops<float> kMaxPoolFloat;
extern const MaxPoolLoops<double> kMaxPoolDouble;
extern const MaxPoolLoops<uint16_t> kMaxPoolBFloat16;
constinit const MaxPoolLoops<float> kMaxPoolFloat{forward<float>, backward<float>};
constinit const MaxPoolLoops<double> kMaxPoolDouble{forward<double>, backward<double>};
constinit const MaxPoolLoops<uint16_t> kMaxPoolBFloat16{forward<uint16_t>, backward<uint16_t>};

}  // namespace tessera::TSR_SIMD
