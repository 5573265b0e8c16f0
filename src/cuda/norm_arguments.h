#pragma once
// What the kernels of batch norm are started with.
#include <algorithm>
#include <atomic>

#include "cuda/norm_ends.h"
#include "cuda/norm_launch.h"

namespace tessera {
namespace {

// Channels of a block that sums, so that there are several last blocks, and of one that does not.
constexpr int kSumChannels = 64, kMostChannels = 256;

template <class T>
NormNumbers<T> numbers_of(const at::Tensor& moments, const at::Tensor& weight, const at::Tensor& bias, double eps,
                          size_t first) {
  return {moments.const_data_ptr<double>() + 2 * static_cast<int64_t>(first) * weight.size(0), weight.const_data_ptr<T>(),
          bias.const_data_ptr<T>(), eps};
}

unsigned next_counters(const dim3& grid) {
  static std::atomic<unsigned> next{0};
  return next.fetch_add(grid.x * (grid.z + 1));
}

at::Tensor scratch_for(const dim3& grid, const at::Tensor& x) {
  return at::empty({grid.z, grid.y, x.size(1), 2}, at::TensorOptions(x.device()).dtype(at::kDouble));
}
BlockSums sums_in(const at::Tensor& scratch) {
  return {reinterpret_cast<SumPair*>(scratch.mutable_data_ptr<double>())};
}
template <class T>
size_t shared_for_sums(const NormRows& rows, int pack, const NormShape& shape) {
  const auto lists = static_cast<size_t>(2 * shape.threads / 32 + 1);
  return std::max(lists * static_cast<size_t>(rows.columns() * pack) * sizeof(T),
                  static_cast<size_t>(shape.threads) * sizeof(SumPair));
}
template <class T>
size_t shared_for_forms(const NormRows& rows, int pack, int lists) {
  return static_cast<size_t>(lists * rows.columns() * pack) * sizeof(T);
}

template <class T>
SumResults<T> results_in(const at::Tensor& means, const at::Tensor& weight_grad, const at::Tensor& bias_grad, size_t first) {
  return {means.mutable_data_ptr<double>() + 2 * static_cast<int64_t>(first) * weight_grad.size(0),
          weight_grad.mutable_data_ptr<T>(), bias_grad.mutable_data_ptr<T>(), first > 0};
}

}  // namespace
}  // namespace tessera
