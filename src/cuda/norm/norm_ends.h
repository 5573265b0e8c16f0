#pragma once
// How kernels of batch norm end that add up: the last block of a stretch of channels makes the results.
#include "cuda/norm/norm_forms.h"
#include "cuda/norm/norm_sums.h"

namespace tessera {
namespace {

// Blocks that are done, all 0 between launches. Launches take turns through the list, so that those which run at the same time
// on several streams have counters of their own.
constexpr unsigned kCounters = 1 << 16;
__device__ unsigned counters[kCounters];

// The launch's counters: of each stretch and group, then of each stretch.
__device__ unsigned* counter_of(unsigned first, unsigned group) {
  return counters + (first + group * gridDim.x + blockIdx.x) % kCounters;
}
// Whether the block is the last of its stretch and group.
__device__ bool ends_group(unsigned first_counter) {
  return comes_last(counter_of(first_counter, blockIdx.z), gridDim.y);
}
// Whether it is the last of those that were, over all groups.
__device__ bool ends_stretch(unsigned first_counter) {
  return gridDim.z == 1 || comes_last(counter_of(first_counter, gridDim.z), gridDim.z);
}

// Means over each group of g and of g * normalised x, where g is the result's gradient with 0 where ReLU cut; the gradients of
// weight and bias, to which further launches add.
template <class T>
struct SumResults {
  double* means;
  T *grad_weight, *grad_bias;
  bool further;
};

// Ends a kernel whose threads have sums of g and of g * (x - centre) over their rows, of `row_pixels` pixels each.
template <class T, int kPack, NormShape kShape>
__device__ void finish_sums(const NormPlace<kPack, kShape>& place, const NormRows& rows, int row_pixels,
                            const NormNumbers<T>& numbers, T (&sum)[kPack], T (&dot)[kPack], const BlockSums& sums,
                            unsigned first_counter, const SumResults<T>& results) {
  SumPair* const to = sums.of(rows, place.group, static_cast<int>(blockIdx.y)) + place.first_channel;
  add_up_rows(place, rows, sum, dot, [&](int i, T first, T second) {
    to[i] = {static_cast<double>(first), static_cast<double>(second)};
  });
  if (!ends_group(first_counter)) return;

  const LastBlock<kPack, kShape> last(place, rows);
  const int64_t c = last.channel;
  const SumPair found = last.over_chunks(rows, place.group, sums, [](int, const SumPair& pair) { return pair; });
  if (last.ends_channel) {
    const ChannelSplit<T> split(numbers.moments, rows.channels, place.group, c, numbers.eps);
    const double all = static_cast<double>(row_pixels) * rows.count(place.group),
                 of_rest = static_cast<double>(split.rest) * found.first;
    results.means[2 * place.group * rows.channels + c] = found.first / all;
    results.means[(2 * place.group + 1) * rows.channels + c] =
        (found.second - of_rest) * static_cast<double>(split.inverse) / all;
  }
  if (!ends_stretch(first_counter) || !last.ends_channel) return;
  double of_weight = 0, of_bias = 0;
  for (int g = 0; g < rows.groups; ++g) {
    of_bias += static_cast<double>(row_pixels) * rows.count(g) * results.means[2 * g * rows.channels + c];
    of_weight += static_cast<double>(row_pixels) * rows.count(g) * results.means[(2 * g + 1) * rows.channels + c];
  }
  results.grad_weight[c] = static_cast<T>(of_weight) + (results.further ? results.grad_weight[c] : T(0));
  results.grad_bias[c] = static_cast<T>(of_bias) + (results.further ? results.grad_bias[c] : T(0));
}

}  // namespace
}  // namespace tessera
