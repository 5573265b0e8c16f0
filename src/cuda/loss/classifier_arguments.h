#pragma once
#include "cuda/common/fast_math.h"
#include "cuda/common/pack.h"
#include "cuda/common/tensor_core.h"

namespace tessera {

// The arguments of the kernels of the fused classifier and loss. Half-precision numbers go through them as bits.
struct ClassifierArguments {
  const uint16_t* features;   // (N H W, channels)
  const uint16_t* weight;     // (classes, channels)
  const float* bias;          // (classes)
  const int16_t* labels;      // (N H W)
  const float* class_weight;  // null: all 1; else (classes + 1), with their sum at the end
  float smoothing;
  int ignore, classes, channels;
  int images, image_pixels;

  __device__ float weight_of(int c) const { return class_weight == nullptr ? 1.0f : class_weight[c]; }
  // The weights of -log p at a pixel's label, and of -log p[c] in every labelled pixel.
  __device__ float target_weight(int c) const { return (1 - smoothing) * weight_of(c); }
  __device__ float spread(int c) const { return smoothing / static_cast<float>(classes) * weight_of(c); }
  __device__ float spread_total() const { return class_weight == nullptr ? smoothing : spread(classes); }
};

// A pixel's numbers that the pixels' kernel leaves for the weights' one: weight * softmax of class c is 2^(logit * log2(e) -
// shift).
struct alignas(8) PixelSoftmax {
  float shift;  // infinite: the pixel does not count
  int label;    // -1: none
};

// The target of a pixel. A label that is no class makes the loss not a number: looking at it would mean waiting for the GPU.
struct PixelTarget {
  int label = -1;
  float weight = 0;  // of -log p at the label
  float mass = 0;    // of all -log p together

  __device__ PixelTarget(const ClassifierArguments& a, int given) {
    if (given == a.ignore) return;
    const bool valid = given >= 0 && given < a.classes;
    label = valid ? given : 0;
    weight = valid ? a.target_weight(given) : static_cast<float>(NAN);
    mass = weight + a.spread_total();
  }
};

using Words = Pack<unsigned, 4>;  // 8 numbers

// Where rows of kGroups x 32 numbers lie in shared memory: the place of their 8 numbers 32 group + 8 part. Turned from row to
// row, so that neither 8 lanes that read the 4 parts of two neighbouring rows nor 8 that read one part of 8 rows meet in a
// bank.
template <int kGroups>
__device__ __forceinline__ int word_place(int row, int group, int part) {
  if (kGroups % 2 == 0) group ^= row & 1;
  return (row * kGroups + group) * 4 + (part ^ (row >> 1 & 3));
}

inline constexpr float kClassifierLog2E = 1.4426950408889634f;
inline constexpr float kClassifierLn2 = 0.6931471805599453f;
inline constexpr float kNoClass = -1e30f;  // logit of what fills up the classes

}  // namespace tessera
