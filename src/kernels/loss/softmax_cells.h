#pragma once
#include "kernels/loss/cells.h"
#include "kernels/loss/pixel_targets.h"

namespace tessera::TSR_SIMD {

// Numbers of type T: the exponentials of a chunk, beside what the walk needs.
inline int64_t softmax_cells_scratch(int64_t width, int64_t padded) {
  return walk_scratch(width, padded) + kChunk * padded;
}

// The softmax of interpolated logits over a band, see Note [Cells].
template <SoftmaxTask kTask, class T, int L>
class SoftmaxCells {
 public:
  SoftmaxCells(SoftmaxBand<T>& band, int64_t padded)
      : band_(band),
        padded_(padded),
        exps_(band.scratch + walk_scratch(band.width, padded)),
        first_low_(band.rows.first[band.begin]) {}

  void run() {
    walk_cells<T, L>(band_, padded_, band_.scratch, [this](const CellRow<T>& row) { visit(row); });
    logs_.flush(band_.value);
  }

 private:
  // A pixel of the chunk that counts, and its place.
  struct Pixel {
    PixelTargets<T> targets;
    T right;  // weight of the right column
    T scale;  // of its exponentials in the gradient (or the sums)
    T shift;  // kSumsGradient: factor of its exponentials in what is subtracted
  };

  TSR_INLINE void visit(const CellRow<T>& row) {
    int64_t count = 0;
    Pixel pixels[kChunk];
    for (int64_t x = row.x_begin; x < row.x_end; ++x) {
      Pixel& pixel = pixels[count];
      if (!read_targets(band_, (row.y - band_.begin) * band_.out_width + x, pixel.targets)) continue;
      pixel.right = band_.columns.weight[x];
      soften(row, pixel, exps_ + count * padded_);
      ++count;
    }
    if (count == 0) return;
    if constexpr (kTask == SoftmaxTask::kSums) {
      add_sums(pixels, count);
    } else if (band_.gradient != nullptr) {
      add_gradient(row, pixels, count);
    }
  }

  // Exponentials of one pixel's logits less their maximum; their sum's part in value and gradient.
  TSR_INLINE void soften(const CellRow<T>& row, Pixel& pixel, T* exps) {
    V<T, L> most = V<T, L>{} + kNoClass<T>;
    for (int64_t c = 0; c < padded_; c += L) {
      const V<T, L> z = load<T, L>(row.left + c) + pixel.right * load<T, L>(row.step + c);
      most = larger(most, z);
      store<T, L>(exps + c, z);
    }
    const T max = largest_lane<T, L>(most);
    const PixelTargets<T>& t = pixel.targets;
    if constexpr (kTask == SoftmaxTask::kCrossEntropy) {
      for (int i = 0; i < t.count; ++i) band_.value -= t.weight[i] * (exps[t.label[i]] - max);
    }
    constexpr bool kGradient = kTask == SoftmaxTask::kSumsGradient;
    const bool spreads = kTask == SoftmaxTask::kCrossEntropy && band_.spread_weight != nullptr;
    V<T, L> sum{}, dot{};
    for (int64_t c = 0; c < padded_; c += L) {
      const V<T, L> z = load<T, L>(exps + c) - max;
      const V<T, L> e = exp_negative<T, L>(z);
      if (kGradient) dot += load<T, L>(band_.grad_sum + c) * e;
      if (spreads) dot += load<T, L>(band_.spread_weight + c) * z;
      sum += e;
      store<T, L>(exps + c, e);
    }
    const T total = sum_lanes<T, L>(sum), inverse = T(1) / total;
    if constexpr (kTask == SoftmaxTask::kCrossEntropy) {
      if (spreads) band_.value -= t.labelled * sum_lanes<T, L>(dot);
      logs_.add(total, t.mass, band_.value);
      pixel.scale = t.mass * inverse;
    } else {
      pixel.scale = inverse;
      if constexpr (kGradient) {
        pixel.shift = (sum_lanes<T, L>(dot) + band_.grad_label_sum[t.label[0]] * exps[t.label[0]]) * inverse * inverse;
      }
    }
  }

  TSR_INLINE void add_sums(const Pixel* pixels, int64_t count) {
    double* const sums = band_.sums + padded_;
    for (int64_t c = 0; c < padded_; c += L) {
      V<T, L> probability{};
      for (int64_t p = 0; p < count; ++p) probability += pixels[p].scale * load<T, L>(exps_ + p * padded_ + c);
      store<double, L>(sums + c, load<double, L>(sums + c) + __builtin_convertvector(probability, V<double, L>));
    }
    for (int64_t p = 0; p < count; ++p) {
      const int16_t label = pixels[p].targets.label[0];
      band_.sums[label] += pixels[p].scale * exps_[p * padded_ + label];
    }
  }

  TSR_INLINE void add_gradient(const CellRow<T>& row, const Pixel* pixels, int64_t count) {
    constexpr bool kEntropy = kTask == SoftmaxTask::kCrossEntropy;
    const auto place = [&](int64_t y, int64_t x) { return band_.gradient + ((y - first_low_) * band_.width + x) * padded_; };
    T* const corner[2][2] = {{place(row.top, row.left_column), place(row.top, row.right_column)},
                             {place(row.bottom, row.left_column), place(row.bottom, row.right_column)}};
    const T down[2] = {T(1) - row.bottom_weight, row.bottom_weight};
    T spread[2] = {0, 0};  // what label smoothing takes off both sides
    if (kEntropy && band_.spread_weight != nullptr) {
      for (int64_t p = 0; p < count; ++p) {
        spread[0] += pixels[p].targets.labelled * (T(1) - pixels[p].right);
        spread[1] += pixels[p].targets.labelled * pixels[p].right;
      }
    }
    for (int64_t c = 0; c < padded_; c += L) {
      V<T, L> side[2] = {}, shift[2] = {};
      for (int64_t p = 0; p < count; ++p) {
        const V<T, L> e = load<T, L>(exps_ + p * padded_ + c);
        const T right = pixels[p].right, left = T(1) - right;
        side[0] += (left * pixels[p].scale) * e;
        side[1] += (right * pixels[p].scale) * e;
        if (!kEntropy) {
          shift[0] += (left * pixels[p].shift) * e;
          shift[1] += (right * pixels[p].shift) * e;
        }
      }
      for (int s = 0; s < 2; ++s) {
        if (!kEntropy) side[s] = load<T, L>(band_.grad_sum + c) * side[s] - shift[s];
        if (kEntropy && band_.spread_weight != nullptr) side[s] -= spread[s] * load<T, L>(band_.spread_weight + c);
        for (int d = 0; d < 2; ++d) store<T, L>(corner[d][s] + c, load<T, L>(corner[d][s] + c) + down[d] * side[s]);
      }
    }
    for (int64_t p = 0; p < count; ++p) {
      const PixelTargets<T>& t = pixels[p].targets;
      for (int i = 0; i < t.count; ++i) {
        const int16_t label = t.label[i];
        const T change = kEntropy ? -t.weight[i] : band_.grad_label_sum[label] * pixels[p].scale * exps_[p * padded_ + label];
        for (int s = 0; s < 2; ++s) {
          const T part = change * (s == 0 ? T(1) - pixels[p].right : pixels[p].right);
          for (int d = 0; d < 2; ++d) corner[d][s][label] += down[d] * part;
        }
      }
    }
  }

  SoftmaxBand<T>& band_;
  const int64_t padded_;
  T* const exps_;
  const int64_t first_low_;
  WeightedLogs<T, L> logs_;
};

}  // namespace tessera::TSR_SIMD
