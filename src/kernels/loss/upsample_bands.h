#pragma once
#include <ATen/core/Tensor.h>

#include <functional>
#include <vector>

#include "kernels/loss/band.h"

namespace tessera {

// Bilinear weights of one axis, by the rule of torch's upsample_bilinear2d.
template <class T>
struct Axis {
  Axis(int64_t in, int64_t out, bool align_corners);
  AxisView<T> view() const { return {first.data(), second.data(), weight.data()}; }

  std::vector<int32_t> first, second;
  std::vector<T> weight;
};

// The pixels of a batch cut into bands. The cut follows from the shapes alone, so a sum over bands in their order is the same
// on any number of threads.
template <class T>
class UpsampleBands {
 public:
  // logits: (N, C, h, w), float32, float64 or bfloat16, any strides; kept. `size`: of the output.
  UpsampleBands(const at::Tensor& logits, at::IntArrayRef size, bool align_corners);

  int64_t count() const { return logits_.size(0) * per_image_; }
  int64_t image(int64_t band) const { return band / per_image_; }
  int64_t first_band(int64_t image) const { return image * per_image_; }
  int64_t per_image() const { return per_image_; }
  int64_t begin(int64_t band) const { return band % per_image_ * rows_; }
  int64_t end(int64_t band) const { return std::min(begin(band) + rows_, out_height_); }
  // Rows of the logits that a band reads: [low_begin, low_end).
  int64_t low_begin(int64_t band) const { return y_.first[static_cast<size_t>(begin(band))]; }
  int64_t low_end(int64_t band) const { return y_.second[static_cast<size_t>(end(band) - 1)] + 1; }
  // Whether vectors hold pixels: where nothing is interpolated, and either a few classes or rows of pixels lie side by side.
  bool pixelwise() const { return pixelwise_; }
  int64_t padded() const { return band_loops<T>().padded(logits_.size(1)); }

  // Fills the common part of a band. `labels`: contiguous (N, H, W) int16, or undefined.
  void describe(int64_t band, const at::Tensor& labels, int64_t ignore, T* scratch, Band<T>& to) const;

  // Calls work(band, scratch) for all bands, on all threads.
  void for_each(const std::function<void(int64_t band, T* scratch)>& work) const;

 private:
  at::Tensor logits_;
  int64_t out_height_, out_width_, per_image_, rows_;
  bool pixelwise_;
  Axis<T> y_, x_;
};

// Labels (N, H, W) that fit the logits, as short_labels makes them. Throws Error when shapes or types do not.
at::Tensor check_labels(const at::Tensor& logits, const at::Tensor& labels);

}  // namespace tessera
