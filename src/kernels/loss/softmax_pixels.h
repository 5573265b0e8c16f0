#pragma once
#include "kernels/loss/pixel_block.h"
#include "kernels/loss/pixel_targets.h"

namespace tessera::TSR_SIMD {

// The softmax over a band whose logits already have the labels' size: pixels side by side in vectors, so that a few classes
// fill them too.
template <SoftmaxTask kTask, class T, int L>
class SoftmaxPixels {
 public:
  SoftmaxPixels(SoftmaxBand<T>& band, int64_t padded) : band_(band), padded_(padded), tile_(band.scratch) {}

  void run() {
    for (int64_t y = band_.begin; y < band_.end; ++y) {
      for (int64_t x = 0; x < band_.out_width; x += L) visit(y, x, band_.out_width - x < L ? band_.out_width - x : L);
    }
  }

 private:
  using Vector = V<T, L>;

  TSR_INLINE void visit(int64_t y, int64_t x, int64_t pixels) {
    PixelTargets<T> targets[L];
    T mass[L] = {}, labelled[L] = {};
    bool any = false;
    for (int64_t p = 0; p < pixels; ++p) {
      any |= read_targets(band_, (y - band_.begin) * band_.out_width + x + p, targets[p]);
      mass[p] = targets[p].mass;
      labelled[p] = targets[p].labelled;
    }
    const bool wants_gradient = kTask != SoftmaxTask::kSums && band_.gradient != nullptr;
    if (!any && !wants_gradient) return;
    const Vector most = load_block<T, L>(band_, y, x, pixels, tile_);
    const auto at_label = [&](int64_t p, int i) -> T& { return tile_[targets[p].label[i] * L + p]; };

    if (kTask == SoftmaxTask::kCrossEntropy) {
      double toward = 0;
      for (int64_t p = 0; p < pixels; ++p) {
        for (int i = 0; i < targets[p].count; ++i) toward += targets[p].weight[i] * (at_label(p, i) - most[p]);
      }
      band_.value -= toward;
    }
    Vector sum{}, dot{};
    const bool spreads = kTask == SoftmaxTask::kCrossEntropy && band_.spread_weight != nullptr;
    for (int64_t c = 0; c < band_.classes; ++c) {
      const Vector z = load<T, L>(tile_ + c * L) - most;
      const Vector e = exp_negative<T, L>(z);
      if (spreads) dot += band_.spread_weight[c] * z;
      if (kTask == SoftmaxTask::kSumsGradient) dot += band_.grad_sum[c] * e;
      sum += e;
      store<T, L>(tile_ + c * L, e);
    }
    const Vector inverse = T(1) / sum;
    if (kTask == SoftmaxTask::kCrossEntropy) {
      // Lanes without a label have no mass; what lies past the row's end is a copy of its last pixel.
      Vector log = load<T, L>(mass) * log_positive<T, L>(sum);
      if (spreads) log -= load<T, L>(labelled) * dot;
      band_.value += sum_lanes<double, L>(__builtin_convertvector(log, V<double, L>));
      if (wants_gradient) {
        scale_block(load<T, L>(mass) * inverse, load<T, L>(labelled));
        for (int64_t p = 0; p < pixels; ++p) {
          for (int i = 0; i < targets[p].count; ++i) at_label(p, i) -= targets[p].weight[i];
        }
      }
    } else if (kTask == SoftmaxTask::kSums) {
      const Vector scale = load<T, L>(labelled) * inverse;
      for (int64_t c = 0; c < band_.classes; ++c) {
        const Vector probability = scale * load<T, L>(tile_ + c * L);
        band_.sums[padded_ + c] += sum_lanes<double, L>(__builtin_convertvector(probability, V<double, L>));
      }
      for (int64_t p = 0; p < pixels; ++p) {
        if (targets[p].count > 0) band_.sums[targets[p].label[0]] += at_label(p, 0) * scale[p];
      }
    } else {
      T label_part[L] = {};  // gradient of the label's sum times the probability there
      for (int64_t p = 0; p < pixels; ++p) {
        if (targets[p].count > 0) label_part[p] = band_.grad_label_sum[targets[p].label[0]] * at_label(p, 0) * inverse[p];
      }
      const Vector mean = dot * inverse + load<T, L>(label_part);
      const Vector scale = load<T, L>(labelled) * inverse;
      for (int64_t c = 0; c < band_.classes; ++c) {
        store<T, L>(tile_ + c * L, scale * load<T, L>(tile_ + c * L) * (band_.grad_sum[c] - mean));
      }
      for (int64_t p = 0; p < pixels; ++p) {
        if (targets[p].count > 0) at_label(p, 0) += label_part[p];
      }
    }
    if (wants_gradient) store_gradient(y, x, pixels);
  }

  TSR_INLINE void scale_block(Vector scale, Vector labelled) {
    for (int64_t c = 0; c < band_.classes; ++c) {
      Vector g = scale * load<T, L>(tile_ + c * L);
      if (band_.spread_weight != nullptr) g -= labelled * band_.spread_weight[c];
      store<T, L>(tile_ + c * L, g);
    }
  }

  TSR_INLINE void store_gradient(int64_t y, int64_t x, int64_t pixels) {
    T* const to = band_.gradient + (y - band_.begin) * band_.gradient_stride_y + x * band_.gradient_stride_x;
    const int64_t stride_class = band_.gradient_stride_class, stride_x = band_.gradient_stride_x;
    if (stride_x == 1 && pixels == L) {
      for (int64_t c = 0; c < band_.classes; ++c) store<T, L>(to + c * stride_class, load<T, L>(tile_ + c * L));
      return;
    }
    for (int64_t p = 0; p < pixels; ++p) {
      for (int64_t c = 0; c < band_.classes; ++c) to[p * stride_x + c * stride_class] = tile_[c * L + p];
    }
  }

  SoftmaxBand<T>& band_;
  const int64_t padded_;
  T* const tile_;  // (classes, L)
};

}  // namespace tessera::TSR_SIMD
