#pragma once
#include <ATen/core/Tensor.h>

#include <cmath>
#include <optional>
#include <vector>

#include "kernels/norm/norm_slabs.h"

namespace tessera {

// Note [Split mean]
// The mean is taken off in two parts: `centre`, which is the mean as T has it, and `rest`, which a constant takes off after the
// multiplication. In one part, as x * scale + (bias - mean * scale), a large mean would leave its rounding error in units of
// the standard deviation. This way nothing is lost, for one subtraction.
template <class T>
struct SplitMean {
  SplitMean(double mean, double var, double eps)
      : centre(static_cast<T>(mean)), rest(mean - static_cast<double>(centre)), inverse(1 / std::sqrt(var + eps)) {}
  T centre;
  double rest, inverse;  // inverse: of the standard deviation
};

// (G, 2, C) float64: mean and variance, or other pairs, of each group and channel.
class NormPairs {
 public:
  explicit NormPairs(const at::Tensor& pairs) : values_(pairs.const_data_ptr<double>()), channels_(pairs.size(2)) {}
  double first(int64_t group, int64_t c) const { return values_[2 * group * channels_ + c]; }
  double second(int64_t group, int64_t c) const { return values_[(2 * group + 1) * channels_ + c]; }

 private:
  const double* values_;
  int64_t channels_;
};

// The tables of tiles, see NormTile.
template <class T>
class NormTables {
 public:
  // means: of g and of g * normalised x over each group, see NormLoops::sums; null: the moments are constants, or no gradient
  // is wanted.
  NormTables(const NormSlabs<T>& slabs, const at::Tensor& moments, const at::Tensor& weight, const at::Tensor& bias,
             const std::optional<at::Tensor>& means, double eps)
      : size_(static_cast<size_t>(slabs.groups() * slabs.table_width())), values_(6 * size_) {
    const NormPairs pairs(moments);
    const NormPairs grad_means(means ? *means : moments);
    const at::Tensor weights = weight.to(at::kDouble), biases = bias.to(at::kDouble);
    for (int64_t g = 0; g < slabs.groups(); ++g) {
      for (int64_t c = 0; c < slabs.channels(); ++c) {
        const SplitMean<T> split(pairs.first(g, c), pairs.second(g, c), eps);
        const double scale = weights.const_data_ptr<double>()[c] * split.inverse;
        const double of_x = means ? -scale * split.inverse * grad_means.second(g, c) : 0;
        const T row[6] = {split.centre,
                          static_cast<T>(scale),
                          static_cast<T>(biases.const_data_ptr<double>()[c] - split.rest * scale),
                          static_cast<T>(scale),
                          static_cast<T>(of_x),
                          static_cast<T>((means ? -scale * grad_means.first(g, c) : 0) - split.rest * of_x)};
        for (int64_t i = c; i < slabs.table_width(); i += slabs.channels()) {
          for (size_t t = 0; t < 6; ++t) values_[t * size_ + static_cast<size_t>(g * slabs.table_width() + i)] = row[t];
        }
      }
    }
  }

  void fill(typename NormSlabs<T>::Place& place) const {
    NormTile<T>& tile = place.tile;
    const T* at = values_.data() + place.table_offset;
    for (const T** table : {&tile.centre, &tile.scale, &tile.shift, &tile.of_grad, &tile.of_x, &tile.constant}) {
      *table = at;
      at += size_;
    }
  }

 private:
  size_t size_;
  std::vector<T> values_;
};

}  // namespace tessera
