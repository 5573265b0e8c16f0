#pragma once
#include "kernels/loss/pixel_block.h"

namespace tessera::TSR_SIMD {

// The class with the largest logit of every pixel of a band, the lowest of equals.
template <class T, int L>
class ArgmaxLoops {
 public:
  ArgmaxLoops(ArgmaxBand<T>& band, int64_t padded) : band_(band), padded_(padded) {}

  void over_cells() {
    walk_cells<T, L>(band_, padded_, band_.scratch, [this](const CellRow<T>& row) {
      for (int64_t x = row.x_begin; x < row.x_end; ++x) put(row.y, x, of_pixel(row, band_.columns.weight[x]));
    });
  }

  void over_pixels() {
    using Mask = typename Vec<T, L>::Mask;
    for (int64_t y = band_.begin; y < band_.end; ++y) {
      for (int64_t x = 0; x < band_.out_width; x += L) {
        const int64_t pixels = band_.out_width - x < L ? band_.out_width - x : L;
        load_block<T, L>(band_, y, x, pixels, band_.scratch);
        V<T, L> most = load<T, L>(band_.scratch);
        Mask best{};
        for (int64_t c = 1; c < band_.classes; ++c) {
          const V<T, L> z = load<T, L>(band_.scratch + c * L);
          const Mask more = z > most;
          most = more ? z : most;
          best = more ? Mask{} + static_cast<typename Bits<T>::Int>(c) : best;
        }
        for (int64_t p = 0; p < pixels; ++p) put(y, x + p, static_cast<int64_t>(best[p]));
      }
    }
  }

 private:
  TSR_INLINE int64_t of_pixel(const CellRow<T>& row, T right) const {
    using Mask = typename Vec<T, L>::Mask;
    using Int = typename Bits<T>::Int;
    const auto logits = [&](int64_t c) { return load<T, L>(row.left + c) + right * load<T, L>(row.step + c); };
    V<T, L> most = logits(0);
    Mask block{};  // in which vector of classes each lane saw its largest
    for (int64_t c = L; c < padded_; c += L) {
      const V<T, L> z = logits(c);
      const Mask more = z > most;
      most = more ? z : most;
      block = more ? Mask{} + static_cast<Int>(c) : block;
    }
    const T max = largest_lane<T, L>(most);
    int64_t best = padded_;
    for (int lane = 0; lane < L; ++lane) {
      const int64_t candidate = static_cast<int64_t>(block[lane]) + lane;
      if (most[lane] == max && candidate < best) best = candidate;
    }
    return best < band_.classes ? best : 0;  // NaN is equal to nothing
  }

  TSR_INLINE void put(int64_t y, int64_t x, int64_t best) {
    band_.result[(y - band_.begin) * band_.out_width + x] = static_cast<int16_t>(best);
  }

  ArgmaxBand<T>& band_;
  const int64_t padded_;
};

}  // namespace tessera::TSR_SIMD
