#pragma once
// What the kernels of batch norm are started with.
#include <ATen/ops/empty.h>

#include <algorithm>
#include <atomic>

#include "cuda/norm/norm_ends.h"
#include "cuda/norm/norm_launch.h"

namespace tessera {
namespace {

// Channels of a block that sums, so that there are several last blocks, and of one that does not.
constexpr int kSumChannels = 64, kMostChannels = 256;

// The pairs of groups `first` and on. pairs: (groups, 2, channels), or undefined.
double* pairs_of(const at::Tensor& pairs, size_t first) {
  return pairs.defined() ? pairs.mutable_data_ptr<double>() + 2 * static_cast<int64_t>(first) * pairs.size(2) : nullptr;
}

template <class T>
NormNumbers<T> numbers_of(const at::Tensor& moments, const at::Tensor& weight, const at::Tensor& bias, double eps,
                          size_t first) {
  return {pairs_of(moments, first), weight.const_data_ptr<T>(), bias.const_data_ptr<T>(), eps};
}

unsigned next_counters(const dim3& grid) {
  static std::atomic<unsigned> next{0};
  return next.fetch_add(grid.x * (grid.z + 1));
}

// Starts kernel(rows, sums, first counter, arguments), which ends with sums over all blocks; x: what it reads.
template <class T, class Kernel, class... Arguments>
void launch_sums(Kernel kernel, const NormRows& rows, int pack, const NormShape& shape, const at::Tensor& x,
                 const Arguments&... arguments) {
  const dim3 grid = grid_of(rows, pack);
  const at::Tensor scratch = at::empty({grid.z, grid.y, x.size(1), 2}, at::TensorOptions(x.device()).dtype(at::kDouble));
  const auto lists = static_cast<size_t>(2 * shape.threads / 32 + 1);
  const size_t shared = std::max(lists * static_cast<size_t>(rows.columns() * pack) * sizeof(T),
                                 static_cast<size_t>(shape.threads) * sizeof(SumPair));
  launch(kernel, grid, shape.threads, shared, rows, BlockSums{reinterpret_cast<SumPair*>(scratch.mutable_data_ptr<double>())},
         next_counters(grid), arguments...);
}

// Starts kernel(rows, arguments), whose threads prepare a Form.
template <class Form, class Kernel, class... Arguments>
void launch_form(Kernel kernel, const NormRows& rows, int pack, const NormShape& shape, const Arguments&... arguments) {
  const size_t shared = static_cast<size_t>(Form::kLists * rows.columns() * pack) * sizeof(typename Form::Number);
  launch(kernel, grid_of(rows, pack), shape.threads, shared, rows, arguments...);
}

template <class T>
SumResults<T> results_in(const at::Tensor& means, const at::Tensor& grad_weight, const at::Tensor& grad_bias, size_t first) {
  return {pairs_of(means, first), grad_weight.mutable_data_ptr<T>(), grad_bias.mutable_data_ptr<T>(), first > 0};
}

}  // namespace
}  // namespace tessera
