#pragma once
#include <cstdint>

namespace tessera {

// Bilinear resampling of one axis: output i is (1 - weight[i]) * input[first[i]] + weight[i] * input[second[i]].
template <class T>
struct AxisView {
  const int32_t* first;
  const int32_t* second;
  const T* weight;
};

enum class LogitType { kFloat, kDouble, kBFloat16 };

// Output rows [begin, end) of one image, the unit of parallel work: what a loop over them reads. Plain pointers, so that the
// sources compiled for other instruction sets need no library's headers.
template <class T>
struct Band {
  const void* logits;  // of the image
  LogitType type;
  int64_t stride_class, stride_y, stride_x;  // in elements
  int64_t classes, height, width;            // of the logits
  int64_t out_width;
  int64_t begin, end;
  AxisView<T> rows, columns;
  bool pixelwise;         // nothing is interpolated, and vectors hold pixels rather than classes
  const int16_t* labels;  // of output row `begin`; null where none are read
  int16_t ignore;
  T* scratch;  // scratch_size() numbers, aligned to 64 bytes
};

enum class SoftmaxTask { kCrossEntropy, kSums, kSumsGradient };

// A band and what a softmax over its pixels gathers. Class tables have `padded` entries, those past the classes 0.
template <class T>
struct SoftmaxBand : Band<T> {
  SoftmaxTask task;
  // Cross entropy. A pixel with label y counts target_weight[y] * -log p[y] + sum over c of spread_weight[c] * -log p[c].
  const T* target_weight;
  const T* spread_weight;  // null: no label smoothing
  T spread_total;
  const int16_t* other_labels;  // null, or MixUp's second labels, whose weight is 1 - mix_weight
  T mix_weight;
  // kSumsGradient: the gradients of the two sums of class c, over all labelled pixels and over those with its label.
  const T* grad_sum;
  const T* grad_label_sum;

  double value;  // out: cross entropy
  double* sums;  // out: (2, padded): probability at the label, probability
  T* gradient;   // out, or null: (low rows of the band, width, padded) or, pixelwise, as the strides say
  int64_t gradient_stride_class, gradient_stride_y, gradient_stride_x;  // row 0 is output row `begin`
  bool bad_label;                                                       // out: a label is neither a class nor `ignore`
};

template <class T>
struct ArgmaxBand : Band<T> {
  int16_t* result;  // of output row `begin`
};

// The loops over bands, compiled for one instruction set.
template <class T>
struct BandLoops {
  int64_t (*padded)(int64_t classes);                       // classes rounded up to whole vectors
  int64_t (*scratch_size)(int64_t classes, int64_t width);  // of a band
  void (*softmax)(SoftmaxBand<T>& band);
  void (*argmax)(ArgmaxBand<T>& band);
};

// The best for this processor (and ATEN_CPU_CAPABILITY, as libtorch's own).
template <class T>
const BandLoops<T>& band_loops();

}  // namespace tessera
