#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tessera {

// For each target position along one axis, the run of source positions it is made of and their weights, which sum to 1.
template <class Weight>
struct ResizeWeights {
  int taps = 0;                 // weights per target position; unused ones are 0
  std::vector<int> first;       // (target) the first source position
  std::vector<int> count;       // (target) how many
  std::vector<Weight> weights;  // (target, taps)

  const Weight* row(int target) const { return weights.data() + static_cast<size_t>(target) * static_cast<size_t>(taps); }
};

// Weights of 8-bit images in units of 2^-22: a sum of products with bytes stays below 2^31.
inline constexpr int kWeightBits = 22;

// Weight: int32_t in units of 2^-22, or float.
template <class Weight>
ResizeWeights<Weight> bilinear_weights(int source, int target);

// The same of the target positions [begin, end) alone; position `begin` is the first.
template <class Weight>
ResizeWeights<Weight> bilinear_weights(int source, int target, int begin, int end);

extern template ResizeWeights<int32_t> bilinear_weights<int32_t>(int, int);
extern template ResizeWeights<float> bilinear_weights<float>(int, int);
extern template ResizeWeights<int32_t> bilinear_weights<int32_t>(int, int, int, int);
extern template ResizeWeights<float> bilinear_weights<float>(int, int, int, int);

}  // namespace tessera
