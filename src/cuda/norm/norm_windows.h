#pragma once
// How the kernels of norm_pool.cu go through a channels_last tensor: windows of 2 x 2 pixels, in the place of norm_rows.h's
// rows.
#include <bit>

#include "core/host_device.h"
#include "cuda/norm/norm_rows.h"

namespace tessera {

inline constexpr int kWindowPixels = 4;

// Windows by their pixels. Images have an even number of lines, so that the lines of a whole batch pair up.
struct WindowPlaces {
  int width;  // windows of a line

  __device__ int64_t first(int window) const { return 2 * (static_cast<int64_t>(window) + window / width * width); }
  __device__ int after_first(int tap) const { return tap / 2 * 2 * width + tap % 2; }
};

// Calls load(window) and then use(window) for each of the thread's windows; prepare() is called by all threads of the block
// while the first is on its way.
template <int kPack, NormShape kShape, class Load, class Prepare, class Use>
__device__ __forceinline__ void for_each_window(const NormPlace<kPack, kShape>& place, Load&& load, Prepare&& prepare,
                                                Use&& use) {
  static_assert(kShape.unroll == 1);
  int left = place.channel < place.channels ? place.tiles : 0;
  int window = place.first + place.row_lane + (kShape.reverse ? (place.tiles - 1) * place.stride : 0);
  if (left > 0 && window < place.end) load(window);
  prepare();
  while (left > 0) {
    if (window < place.end) use(window);
    if (--left == 0) break;
    window += kShape.reverse ? -place.stride : place.stride;
    if (window < place.end) load(window);
  }
}

// The gradient of a window's pixels: what comes from the maximum, at its place, and what comes beside it.
template <class S>
struct WindowGrads {
  const S* pooled;
  const uint8_t* positions;
  const S* beside;  // rows `pitch` numbers apart, or null
  int64_t pitch;
};

// The thread's channels of a window: x and the gradients.
template <class S, int kPack, NormShape kShape>
struct WindowPacks {
  using Place = NormPlace<kPack, kShape>;
  using Words = typename Place::template Words<S>;
  using T = Compute<S>;

  __device__ __forceinline__ void load(const Place& place, const WindowPlaces& pixels, const S* x, const WindowGrads<S>& grads,
                                       int window) {
    const int64_t first = pixels.first(window), pooled_at = window * place.channels + place.channel;
    pooled = place.load(grads.pooled + pooled_at);
    positions = load_pack<kPack>(grads.positions + pooled_at);
#pragma unroll
    for (int tap = 0; tap < kWindowPixels; ++tap) {
      const int64_t pixel = first + pixels.after_first(tap);
      values[tap] = place.load(x + pixel * place.channels + place.channel);
      beside[tap] = grads.beside != nullptr ? place.load(grads.beside + pixel * grads.pitch + place.channel) : Words{};
    }
  }
  // Calls use(k, x, gradient) for all pixels and channels; then(tap) after a pixel's.
  template <class Use, class Then>
  __device__ __forceinline__ void for_each(Use&& use, Then&& then) const {
    const auto most = std::bit_cast<Pack<S, kPack>>(pooled);
#pragma unroll
    for (int tap = 0; tap < kWindowPixels; ++tap) {
      const auto x = std::bit_cast<Pack<S, kPack>>(values[tap]), more = std::bit_cast<Pack<S, kPack>>(beside[tap]);
#pragma unroll
      for (int k = 0; k < kPack; ++k) {
        const T from_most = positions.value[k] == tap ? static_cast<T>(most.value[k]) : T(0);
        use(k, static_cast<T>(x.value[k]), static_cast<T>(more.value[k]) + from_most);
      }
      then(tap);
    }
  }

  Words values[kWindowPixels] = {}, beside[kWindowPixels] = {}, pooled = {};
  Pack<uint8_t, kPack> positions = {};
};

}  // namespace tessera
