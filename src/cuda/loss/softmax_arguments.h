#pragma once
#include "cuda/common/fast_math.h"
#include "cuda/loss/logit_arguments.h"

namespace tessera {

enum class LossTask { kCrossEntropy, kLogSums, kSums, kSumsGradient };

// The arguments of all kernels of the fused losses. T: the type they compute in.
template <class T>
struct SoftmaxArguments : LogitArguments {
  const int16_t* labels;                  // (N, H, W)
  const int16_t* other_labels = nullptr;  // null, or MixUp's second labels ...
  const T* mix_weight = nullptr;          // ... and the first's weight for each image
  int ignore = 0;
  // Cross entropy: a pixel with label y counts weight[y] * (1 - smoothing) * -log p[y] + smoothing / C * sum of weight * -log
  // p.
  const T* weight = nullptr;  // null: all 1; else (C + 1), with their sum at the end
  T smoothing = 0;
  // kSumsGradient: (2, C), the gradients of the sums of probabilities at the label, and over all labelled pixels.
  const T* grad_sums = nullptr;
  // (N, H, W), where another kernel has found them: the log of the sum of exponentials, and the sum over classes of gradient *
  // probability.
  T* log_sum = nullptr;
  T* grad_dot = nullptr;

  __device__ T logit(int64_t offset) const { return LogitArguments::logit<T>(offset); }
  __device__ T weight_of(int c) const { return weight == nullptr ? T(1) : weight[c]; }
  // The weight of -log p[c] in every labelled pixel.
  __device__ T spread(int c) const { return smoothing / static_cast<T>(classes) * weight_of(c); }
  __device__ T spread_total() const { return weight == nullptr ? smoothing : spread(classes); }
};

// The target of one pixel: up to two labels with their weights in the cross entropy.
template <class T>
struct PixelTargets {
  int label[2] = {-1, -1};  // -1: none
  T weight[2] = {0, 0};     // of -log p at the label
  T labelled = 0;           // weight of the labels together: 1, or less where one of two mixed labels is ignored
  T mass = 0;               // of all -log p together

  __device__ void read(const SoftmaxArguments<T>& a, int image, int64_t pixel) {
    set(a, image, a.labels[pixel], a.other_labels == nullptr ? a.ignore : a.other_labels[pixel]);
  }
  // A label that is no class makes the loss not a number: looking at it here would mean waiting for the GPU.
  __device__ __forceinline__ void set(const SoftmaxArguments<T>& a, int image, int first, int other) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      if (i == 1 && a.other_labels == nullptr) continue;
      const int given = i == 0 ? first : other;
      if (given == a.ignore) continue;
      const bool valid = given >= 0 && given < a.classes;
      const T part = a.other_labels == nullptr ? T(1) : i == 0 ? a.mix_weight[image] : T(1) - a.mix_weight[image];
      label[i] = valid ? given : 0;
      weight[i] = valid ? part * (T(1) - a.smoothing) * a.weight_of(given) : static_cast<T>(NAN);
      labelled += valid ? part : static_cast<T>(NAN);
      mass += weight[i] + part * a.spread_total();
    }
  }
  __device__ bool counts() const {
    return label[0] >= 0 || label[1] >= 0;
  }
};

template <class T>
inline constexpr T kLog2E = static_cast<T>(1.4426950408889634);
template <class T>
inline constexpr T kLn2 = static_cast<T>(0.6931471805599453);
// Lies below every logit, and may be interpolated: what lanes past the last class hold.
template <class T>
inline constexpr T kNoLogit = static_cast<T>(-1e30);

}  // namespace tessera
